# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086,SC2046
# Symbols and names of system calls.
for c in keys=call_site.sym:vals=bytes_req:sort=bytes_req.descending keys=call_site.sym-offset:vals=bytes_req,bytes_alloc \
	keys=call_site.hex:vals=bytes_req.sym keys=call_site.sym,bytes_req:vals=bytes_alloc:sort=call_site; do
	other kmem/kmalloc "hist:$c"
	grep -v '^#' events/kmem/kmalloc/trigger
	: >events/kmem/kmalloc/trigger
done
# The system calls of the shell that are the same on both kernels.
put events/raw_syscalls/sys_enter/trigger 'hist:keys=id.syscall,common_pid.execname:sort=id if comm == "true" && id == 231'
/bin/true
cat events/raw_syscalls/sys_enter/trigger
sed -E 's/\[ +[0-9]+\]/[PID]/' events/raw_syscalls/sys_enter/hist
: >events/raw_syscalls/sys_enter/trigger
