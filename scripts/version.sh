# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# All that depends on the version of Linux that the work is for: the base of
# patches/ and of the overlay, and where its source comes from. scripts/lib.sh
# sources this file; TRACE_VERSION=FILE is another one in its place.

# The kernel series, and the Debian release that the toolchain comes from. Which
# point release it is does not matter: the archive drops old ones.
KVER=7.3
SUITE=trixie

# The packages of Debian with the source and with its configurations.
SOURCE_PACKAGE=linux-source-$KVER
CONFIG_PACKAGE=linux-config-$KVER

# The fallback if the archive does not have the source any more: that package in
# the archive of past packages, at a time when it was available. The checksum is
# from the signed index of the archive.
SNAPSHOT=${LINUX_SNAPSHOT:-https://snapshot.debian.org}
SNAPSHOT_DEB=archive/debian/20261121T000000Z/pool/main/l/linux/linux-source-7.3_7.3.4-1~bpo13+1_all.deb
SNAPSHOT_SHA256=703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3

# And when that has not got it either: the kernel's own release. Its checksum is in
# a signed list beside it. Where that is not known here (empty), the files that the
# work changes or builds upon are compared: each path below, a file or a folder, has
# to be what Debian's package of this release has (scripts/source.sh, tree_sum), from
# which this list is. Files that Debian changes, such as kernel/fork.c, are not in it.
RELEASES=${LINUX_RELEASES:-https://cdn.kernel.org/pub/linux/kernel/v7.x}
RELEASE=7.3.4
RELEASE_SHA256=
RELEASE_CONTENT='
kernel/trace 511cff18431dde27c3c747304c3310840a66e3fdbe645e551a6bde8376ab7628
rust 20ade1af12c21363a235d359abd307ef4e0a0d7bd37042070f806667a2153df5
include/trace deb893983c6ce1c6916f1e1cd01649ff68609141f4d7f4c15a37e255bdd12370
kernel/tracepoint.c 47e774bcb0c6c46db650f75831a5a9256d657af7e3c609ee1d1b3b8c9c202c02
include/linux/tracepoint.h 94e3e0eaeef7ddcf4bb57fc24f885053f5563f859239bf5fbce8c27491d1f4a4
include/linux/trace_events.h 8a7a857a928be71966e280afc105c1419a0111fe87ba0e585a48d51573a11515
include/linux/user_events.h 8048d2845cbc592d735a3d6832f8389ee6c2be10f3fa464fb1f146117dee9700
include/linux/mm_types.h a8f7217bbb97f59a3b6ad345bf775f59fb6c3111a5649caa9ff7e0d68f8d0c60
mm/mmap.c 052b678ed24eddaf1e5b0e1e4670d7b56404a18653d4537fcb36329631cced72
samples/rust fd76eb922d2cdc5b23d23f04f4b14d6c204b9fd5746b78a28951e294725aa837
tools/testing/selftests/user_events 0b60495af42fb4ddc6a5e4e40d52a2d4a534615b19d13274d638707049acbffb
tools/testing/selftests/ftrace e2228951873ecb2fdee5d1a1755c80132ca0de5d3172115baa5a1d7a1ba376ff
'
