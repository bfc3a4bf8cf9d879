# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# All that depends on the version of Linux that the work is for: the base of
# patches/ and of the overlay, and the origin of its source. scripts/lib.sh
# sources this file; TRACE_VERSION=FILE is another one in its place.

# The kernel series, and the Debian release of the toolchain. Which point
# release it is does not matter: the archive drops old ones.
KVER=7.3
SUITE=trixie

# The packages of Debian with the source and with its configurations.
SOURCE_PACKAGE=linux-source-$KVER
CONFIG_PACKAGE=linux-config-$KVER

# The fallback if the archive no longer has the source: that package in the
# archive of past packages, at a time when it was available. The checksum is
# from the signed index of the archive.
SNAPSHOT=${LINUX_SNAPSHOT:-https://snapshot.debian.org}
SNAPSHOT_DEB=archive/debian/20261121T000000Z/pool/main/l/linux/linux-source-7.3_7.3.4-1~bpo13+1_all.deb
SNAPSHOT_SHA256=703e369ddd4cce971452f5a593ee55df3a5c10c83caf0fa0df039633ed181ee3

# And when that has not got it either: the kernel's own release. Its checksum is in
# a signed list beside it. Where that is not known here (empty), the files that the
# work changes or builds upon are compared: each path below, a file or a folder, has
# to be what Debian's package of this release has (scripts/source.sh, tree_sum), from
# which this list is. The files of RELEASE_DEBIAN cannot be compared: Debian changes
# them. In its package these have a later time stamp than all others.
RELEASES=${LINUX_RELEASES:-https://cdn.kernel.org/pub/linux/kernel/v7.x}
RELEASE=7.3.4
RELEASE_SHA256=
RELEASE_DEBIAN='kernel/fork.c kernel/events/core.c'
RELEASE_CONTENT='
kernel/trace 511cff18431dde27c3c747304c3310840a66e3fdbe645e551a6bde8376ab7628
kernel/tracepoint.c 47e774bcb0c6c46db650f75831a5a9256d657af7e3c609ee1d1b3b8c9c202c02
kernel/events/internal.h 4917b2545bfb88d3377e7cdae16ef4d16299dfb5f6e86e228c68ea0d95fd17b7
kernel/events/ring_buffer.c b8d1516e61c1489c647a6f833d5149f7278910aae9261f2bd8890206c7e19428
kernel/rcu/srcutree.c cf049a882d33ad5765efcecf43cd80fe8d70bcbb58c1fb2ca73b7469252e61d8
kernel/exit.c c0daf03c6e3b0f777a7562abdb8d84de19ca6868653f4f279d08582dc120e9f3
fs/debugfs b3d534b6cfe16747ae9dba33fc4193b82562f46bb4bf474ab8157be6d9754714
fs/exec.c 1e0caa9ab745c9d9f7839bd474464402a85c4583024fd06d543d39ee28440846
mm/mmap.c 052b678ed24eddaf1e5b0e1e4670d7b56404a18653d4537fcb36329631cced72
rust 20ade1af12c21363a235d359abd307ef4e0a0d7bd37042070f806667a2153df5
drivers/android/binder 67b53dcc575201757543651444e59df2e909015271b3b875182f25f721d175a3
arch/um/kernel/dyn.lds.S 8a1bdab466facd9cb3ef7197e59afe00402effa764e56503cb300646acbc7998
arch/um/kernel/uml.lds.S 46a7cd8fc7d7b7927fc0d367b1047b0deee943890a4e54772303b85857f114eb
arch/x86/um/Kconfig c73b95a83f7ea197b47824c842fc7bf6b8ea9f13dcd219f549460c2dbc857f79
include/trace deb893983c6ce1c6916f1e1cd01649ff68609141f4d7f4c15a37e255bdd12370
include/linux/mm_types.h a8f7217bbb97f59a3b6ad345bf775f59fb6c3111a5649caa9ff7e0d68f8d0c60
include/linux/trace_events.h 8a7a857a928be71966e280afc105c1419a0111fe87ba0e585a48d51573a11515
include/linux/tracepoint.h 94e3e0eaeef7ddcf4bb57fc24f885053f5563f859239bf5fbce8c27491d1f4a4
include/linux/user_events.h 8048d2845cbc592d735a3d6832f8389ee6c2be10f3fa464fb1f146117dee9700
include/uapi/linux/user_events.h 7d2896321b0109639c2b4c12a4c797ad1549053277352475c71af1b12e8ea1ef
samples/rust fd76eb922d2cdc5b23d23f04f4b14d6c204b9fd5746b78a28951e294725aa837
scripts/Makefile.kcsan 74b4ef669bb48e1bbc2d036a6c988fd28799b0edaa025f8fd27587f7cf06f9c1
scripts/Makefile.lib f624ef67d96f707bb1367b5f993818717668324a67830fc693f0613c410ba150
scripts/generate_rust_analyzer.py 85d602e4dd8e4fc65ab1cf2a1bb3f51e20d69fc58819324d6ce3643ab9976350
scripts/generate_rust_target.rs 86c84cb11fbe70239686d4668c8a45f31434fa35620b437ee4a81c1150015a86
tools/testing/selftests/ftrace e2228951873ecb2fdee5d1a1755c80132ca0de5d3172115baa5a1d7a1ba376ff
tools/testing/selftests/user_events 0b60495af42fb4ddc6a5e4e40d52a2d4a534615b19d13274d638707049acbffb
tools/tracing/Makefile 6abde34ac595b247214d91b505e1bc38b300411704a60cf21d276bb2599a4fe5
Documentation/tools/index.rst 143cb1342566dfd6b13230c6bf2250d1658222d1313e8c65295d791b42cd9e64
Documentation/trace 99efe52ff8920055e84e61dbc5ce5ea416c58f0ec837cab9849dd3540fe3600b
Documentation/translations/zh_CN/index.rst 0bbd446dee677326e112ede14481c07edbd3a938aa142ed93071a8102a52033d
Documentation/userspace-api/ioctl/ioctl-number.rst ef81c52ed1d98c2f0941481833531516292980ae50aa7c87e09e8e7734b9acd6
MAINTAINERS 057a27bdcaf428d3c419245baa3ba9fb7cbd73229f65e86076232f189717ddc7
'
