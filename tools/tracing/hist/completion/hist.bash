# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of hist for bash.
#
# Names of events and of instances are data: a user event can be named $(command), and a program
# that is not root's can have registered it. "compgen -W" would run that, so these names are
# compared as they are, and are quoted for the command line.

# Offers the lines of the standard input that begin as the word does.
_hist_names() {
	local name quoted
	while IFS= read -r name; do
		printf -v quoted %q "$name"
		[[ $name == "$cur"* || $quoted == "$cur"* ]] && COMPREPLY+=("$quoted")
	done
}

# Offers fixed words.
_hist_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Offers files, or folders with -d; readline quotes them.
_hist_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "${1:--f}" -- "$cur")
}

_hist_events() {
	[ -r "$tracefs/available_events" ] && _hist_names <"$tracefs/available_events"
}

_hist_instances() {
	local folders=("$tracefs"/instances/*/)
	folders=("${folders[@]%/}")
	[ -d "${folders[0]}" ] && _hist_names < <(printf '%s\n' "${folders[@]##*/}")
}

# Offers what a command has after its options.
_hist_arguments() {
	local i
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			# The command that is run.
			if [ $((i + 1)) = "$COMP_CWORD" ]; then mapfile -t COMPREPLY < <(compgen -c -- "$cur"); else _hist_files; fi
			return
		fi
	done
	case $command in
	latency) _hist_events ;;
	top | show | plot | export) _hist_files ;;
	esac
}

_hist() {
	local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options='' before i tracefs=/sys/kernel/tracing
	local limits='--for -i --interval' output='-o --output --svg --heatmap --live --top -q --quiet --tracefs'
	local event='-e --event -k --keys --vals -f --filter --size'
	local at=$COMP_CWORD

	COMPREPLY=()
	# "sched:sched_switch" is three words to bash, and "--event=x" as well.
	if [ "$at" -gt 2 ] && [ "$cur" = : ]; then
		at=$((at - 1)) cur=${COMP_WORDS[at]}:
	elif [ "$at" -gt 3 ] && [ "${COMP_WORDS[at - 1]}" = : ]; then
		at=$((at - 2)) cur=${COMP_WORDS[at]}:$cur
	fi
	before=${COMP_WORDS[at - 1]}
	[ "$before" != = ] || before=${COMP_WORDS[at - 2]}
	[ "$cur" != = ] || cur='' before=${COMP_WORDS[at - 1]}
	for ((i = 2; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" != --tracefs ] || tracefs=${COMP_WORDS[i + 1]}
	done
	if [ "$COMP_CWORD" = 1 ]; then
		_hist_words 'record latency top show plot export cleanup --help --version'
		return
	fi
	case $before in
	-e | --event) _hist_events ;;
	-o | --output | --svg | --heatmap) _hist_files ;;
	--tracefs) _hist_files -d ;;
	--unit) _hist_words 'us ns' ;;
	--kind) _hist_words 'distribution heatmap' ;;
	--format) _hist_words 'json prometheus otlp otlp-explicit' ;;
	--buckets) _hist_words 'log2 log2=1 log2=2 log2=3 log2=4 log2=5 buckets=' ;;
	--instance) _hist_instances ;;
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
			_hist_words "$options --help"
		else
			_hist_arguments
		fi
		;;
	esac
	# What is before the colon is on the command line already.
	if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
	fi
}

complete -F _hist hist
