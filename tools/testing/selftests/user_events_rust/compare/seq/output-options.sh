# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2046,SC2013,SC2012
# raw, hex, bin, fields, verbose; options of the columns, of pointers and of masks.
make_events
echo 1 >events/user_events/pair/enable
pair 1 2 3
id=$(cat events/user_events/pair/id)
for o in raw hex bin fields verbose; do
	echo 1 >options/$o
	printf '%s: ' $o
	grep -av '^#' trace | sed "s/type: $id/type: ID/" | grep -aoE 'type: ID|pair:.*' | norm
	echo 0 >options/$o
done
echo 0 >options/context-info
grep -v '^#' trace
echo 1 >options/context-info

# With its columns, of which the values change from run to run.
shape() {
	grep -av '^#' trace | sed -E 's/^ *uedrive-[0-9]+ +/TASK /; s/ \[[0-9]{3}\]/ CPU/
		s/^TASK [0-9]+[^ ]{5}/TASK CPU+FLAGS/; s/^(TASK CPU) [^ ]{5} /\1 FLAGS /
		s/ +[0-9]+\.[0-9]{6}: / TIME: /; s/ +[0-9]+us[^:]*: / USECS: /' | norm
}
put dynamic_events 'u:mask __data_loc u8[] m; char *p'
ue <<'END'
reg bit=0 : mask __data_loc u8[] m; char *p
put events/user_events/mask/enable 1
w 0 u32:0x8000d u8:65 u64:3
put events/user_events/mask/enable 0
END
for o in latency-format irq-info hash-ptr bitmask-list; do
	was=$(cat options/$o)
	echo $((!was)) >options/$o
	echo "$o: $was, $(cat options/$o)"
	shape
	echo "$was" >options/$o
done
