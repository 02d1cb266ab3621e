# Completion of zkflock(1) for bash.  With bash-completion, which loads this file by itself, the
# words behind LOCK are completed as COMMAND's own are; without it they are file names.
#
# What the functions here tell each other stands in the local variables of _zkflock().

# _zkflock_unquote WORD: sets REPLY to what the shell makes of it, quote to the quote that is still
# open at its end, and opened to how much stands before the text in that quote.
_zkflock_unquote() {
  local word=$1 i char

  REPLY='' quote='' opened=0
  for ((i = 0; i < ${#word}; i++)); do
    char=${word:i:1}
    case $quote$char in
    "''" | '""') quote='' ;;
    \' | \") quote=$char opened=$((i + 1)) ;;
    \\ | \"\\)
      ((++i))
      REPLY+=${word:i:1}
      ;;
    *) REPLY+=$char ;;
    esac
  done
}

# _zkflock_value WORD: sets REPLY to what the shell makes of it: a tilde and a plain variable too,
# and no more, since nothing is to be run for a completion.
_zkflock_value() {
  local variable='^"?\$\{?([A-Za-z_][A-Za-z_0-9]*)\}?"?$'

  if [[ $1 =~ $variable ]]; then
    REPLY=${!BASH_REMATCH[1]-}
    return
  fi
  _zkflock_unquote "$1"
  [[ $1 != '~'/* ]] || REPLY=$HOME/${REPLY#*/}
}

# Sets words, up to the cursor, and starts, where in COMP_WORDS each of them begins.  There they are
# cut at colons and the like too; readline replaces what stands behind the last cut, last_piece.
_zkflock_split() {
  local line=${COMP_LINE:0:COMP_POINT} i piece blanks before='' operator='^[<>&|;(]+$'

  words=() starts=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    blanks=${line%%[![:space:]]*}
    line=${line#"$blanks"}
    piece=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || piece=$line
    line=${line#"$piece"}
    if [[ ! $before || $blanks || ! $piece || $piece =~ $operator || $before =~ $operator ]]; then
      starts+=("$i")
      words+=("$piece")
    else
      words[-1]+=$piece
    fi
    before=$piece
  done
  last_piece=$piece
  [[ ! $piece || ${piece//["$COMP_WORDBREAKS"]/} ]] || last_piece=''
}

# Asks the program that is typed for the options that go before LOCK: sets values[OPTION] to the name
# of its value, or to nothing.  An alias is no program.
_zkflock_ask() {
  local line form pattern='^ {2,6}((-[^ ,]+, )*-[^ ,]+)( ([^ ]+))?( |$)'

  _zkflock_value "${words[0]}"
  while IFS= read -r line; do
    [[ $line =~ $pattern && ${BASH_REMATCH[1]} != -c,* ]] || continue
    for form in ${BASH_REMATCH[1]//,/}; do
      values[$form]=${BASH_REMATCH[4]}
    done
  done < <({ "$REPLY" --help || zkflock --help; } 2>/dev/null </dev/null)
}

# _zkflock_note OPTION [VALUE]: what matters of an option that was typed.
_zkflock_note() {
  case $1 in
  --hold | --unlock | -u | --list | --revoke | --break | --remove | --show-config) action=$1 ;;
  --config | --servers | -z | --auth-file | --cacert | --cert | --key)
    _zkflock_value "$2"
    arguments+=("$1" "$REPLY")
    ;;
  --tls) arguments+=("$1") ;;
  esac
}

# Goes through the options before the cursor.  Sets at to the first operand, or to the word at the
# cursor; option to the one whose value that word is; ended if no option can follow.
_zkflock_scan() {
  local last=$((${#words[@]} - 1)) word letters

  for ((at = 1; at < last; at++)); do
    word=${words[at]}
    case $word in
    [\<\>]*)
      ((++at))
      continue
      ;;
    --)
      ended=yes
      ((++at))
      return
      ;;
    --*=*)
      _zkflock_note "${word%%=*}" "${word#*=}"
      continue
      ;;
    --*) letters='' option=$word ;;
    -?*) letters=${word:1} option='' ;;
    *)
      ended=yes
      return
      ;;
    esac
    # A cluster: all but the last letter, unless what follows a letter is its value.
    while [[ $letters ]]; do
      option=-${letters:0:1} letters=${letters:1}
      [[ ! ${values[$option]-} ]] || break
      [[ ! $letters ]] || _zkflock_note "$option"
    done
    if [[ $letters ]]; then
      _zkflock_note "$option" "$letters"
    elif [[ ! ${values[$option]-} ]]; then
      _zkflock_note "$option"
    elif ((++at == last)); then
      return
    else
      _zkflock_note "$option" "${words[at]}"
    fi
    option=''
  done
}

# _zkflock_offer WORD...: those of them that go on from what was typed, as it has to be typed: names
# are made by others, and none of them may come to mean anything to the shell.
_zkflock_offer() {
  local word rest typed head last_quote

  _zkflock_unquote "$cur"
  typed=$REPLY last_quote=$quote head=${cur%"$last_piece"}
  [[ ! $quote ]] || ((opened <= ${#head})) || head=${cur:0:opened}
  _zkflock_unquote "$head"
  head=$REPLY
  for word; do
    word=$prefix$word
    [[ $word == "$typed"* ]] || continue
    rest=${word#"$head"}
    case $last_quote in
    \') rest=${rest//\'/"'\''"} ;;
    \")
      rest=${rest//\\/\\\\}
      rest=${rest//\"/\\\"}
      rest=${rest//\$/\\\$}
      rest=${rest//\`/\\\`}
      ;;
    *) [[ ! $rest ]] || printf -v rest %q "$rest" ;;
    esac
    COMPREPLY+=("$rest")
  done
}

_zkflock_offer_lines() {
  local lines

  mapfile -t lines
  _zkflock_offer "${lines[@]}"
}

_zkflock_offer_locks() {
  _zkflock_value "${words[0]}"
  _zkflock_offer_lines < <("$REPLY" --list --names --connect-timeout 300ms "${arguments[@]}" \
    2>/dev/null </dev/null)
}

# What readline does by itself.
_zkflock_offer_files() {
  compopt -o bashdefault -o default
}

_zkflock_offer_programs() {
  _zkflock_unquote "${cur#"$prefix"}"
  if [[ $REPLY == */* ]]; then
    _zkflock_offer_files
  else
    _zkflock_offer_lines < <(compgen -c -- "$REPLY" | sort -u)
  fi
}

_zkflock_offer_signals() {
  local signals=() signal cut=SIG

  [[ ${cur#"$prefix"} != SI* ]] || cut=''
  while read -r signal; do
    # Not all of bash's names are known to zkflock(1).
    case $signal in
    SIGRT* | SIGJUNK* | SIGIO) ;;
    SIG*) signals+=("${signal#"$cut"}") ;;
    esac
  done < <(compgen -A signal)
  _zkflock_offer "${signals[@]}"
}

_zkflock_offer_values() {
  local choices

  case $option in
  --config | --auth-file | --cacert | --cert | --key) _zkflock_offer_files ;;
  --for) _zkflock_offer_lines < <(compgen -G '/proc/[0-9]*' | sed 's,.*/,,') ;;
  --hook) _zkflock_offer_programs ;;
  --signal) _zkflock_offer_signals ;;
  --with) _zkflock_offer_locks ;;
  *)
    [[ ${values[$option]-} == *'|'* ]] || return
    IFS='|' read -ra choices <<<"${values[$option]}"
    # LIST and TEXT are no values.
    [[ ! ${choices[-1]} =~ ^[A-Z]+$ ]] || unset 'choices[-1]'
    _zkflock_offer "${choices[@]/:*/:}"
    # What stands for the rest follows.
    [[ ${COMPREPLY-} != *: ]] || compopt -o nospace
    ;;
  esac
}

_zkflock_offer_options() {
  local i option

  _zkflock_offer "${!values[@]}"
  [[ ! ${COMPREPLY-} ]] || return
  # A cluster of letters is whole.
  for ((i = 1; i < ${#cur}; i++)); do
    option=-${cur:i:1}
    [[ ${values[$option]+known} ]] || return
    [[ ! ${values[$option]} || $((i + 1)) -eq ${#cur} ]] || return
  done
  COMPREPLY=("$cur")
}

# The words behind LOCK.
_zkflock_offer_command() {
  local first=$((at + 1)) last=$((${#words[@]} - 1))

  ((first == last)) || [[ ${words[first]} != -- ]] || ((++first))
  if ((first < last)) && [[ ${words[first]} == -c || ${words[first]} == --command ]]; then
    ((first + 1 < last)) || _zkflock_offer_programs
  elif ((first == last)) && [[ $cur == -* ]]; then
    _zkflock_offer -c --command
  elif declare -F _command_offset >/dev/null; then
    _command_offset "${starts[first]}"
  elif ((first == last)); then
    _zkflock_offer_programs
  else
    _zkflock_offer_files
  fi
}

_zkflock() {
  local words starts last_piece cur prefix='' REPLY quote opened
  local at option='' ended='' action='' arguments=() IFS=$' \t\n'
  local -A values=()

  COMPREPLY=()
  _zkflock_split
  _zkflock_ask
  _zkflock_scan
  cur=${words[-1]}
  if [[ $option ]]; then
    _zkflock_offer_values
  elif [[ ! $ended && ${words[-2]} == [\<\>]* ]]; then
    _zkflock_offer_files
  elif [[ ! $ended && $cur == --*=* ]]; then
    option=${cur%%=*} prefix=$option=
    _zkflock_offer_values
  elif [[ ! $ended && $cur == -* ]]; then
    _zkflock_offer_options
  elif ((at == ${#words[@]} - 1)) || [[ $action == --list ]]; then
    _zkflock_offer_locks
  elif [[ ! $action ]]; then
    _zkflock_offer_command
  fi
}

complete -F _zkflock zkflock
