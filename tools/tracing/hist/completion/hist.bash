# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of hist for bash.

_hist_events() {
	local folder=/sys/kernel/tracing
	[ -r $folder/available_events ] && cat $folder/available_events
}

_hist() {
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options=
	local limits='--for -i --interval' output='-o --output --svg --heatmap --live --top -q --quiet --tracefs'
	local event='-e --event -k --keys --vals -f --filter --size'

	# "sched:sched_switch" is three words to bash.
	if declare -F _get_comp_words_by_ref >/dev/null; then
		_get_comp_words_by_ref -n : cur
		[ "$previous" != : ] || previous=${COMP_WORDS[COMP_CWORD - 3]}
	fi
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'record latency top show plot export cleanup --help --version' -- "$cur")
		return
	fi
	case $previous in
	-e | --event) mapfile -t COMPREPLY < <(compgen -W "$(_hist_events)" -- "$cur") ;;
	-o | --output | --svg | --heatmap) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
	--tracefs) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
	--unit) mapfile -t COMPREPLY < <(compgen -W 'us ns' -- "$cur") ;;
	--kind) mapfile -t COMPREPLY < <(compgen -W 'distribution heatmap' -- "$cur") ;;
	--format) mapfile -t COMPREPLY < <(compgen -W 'json prometheus otlp otlp-explicit' -- "$cur") ;;
	--buckets) mapfile -t COMPREPLY < <(compgen -W 'log2 log2=1 log2=2 log2=3 log2=4 log2=5 buckets=' -- "$cur") ;;
	--instance) mapfile -t COMPREPLY < <(compgen -W "$(ls /sys/kernel/tracing/instances 2>/dev/null)" -- "$cur") ;;
	*)
		case $command in
		record) options="$event $limits $output" ;;
		latency) options="--key --by --save --unit --buckets --start-filter --filter --size $limits $output" ;;
		top) options="$event $limits --all -n --iterations --top --tracefs" ;;
		show) options='-e --event --instance --top --tracefs' ;;
		plot) options='--kind -o --output' ;;
		export) options='--format --metric --scale -o --output' ;;
		cleanup) options='--tracefs' ;;
		esac
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$cur")
		elif [ "$command" = latency ]; then
			mapfile -t COMPREPLY < <(compgen -W "$(_hist_events)" -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	esac
	if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$cur"; fi
}

complete -F _hist hist
