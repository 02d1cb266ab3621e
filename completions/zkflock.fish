# Completion of zkflock(1) for fish: options, locks, then COMMAND with a completion of its own.

# __zkflock_typed PART: prints a part of what stands before the cursor, a line each: operands, LOCK
# and what follows it; action, the option that stands in the place of COMMAND; ensemble, the options
# that say which locks there are.
function __zkflock_typed
    set -l words (commandline -opc)
    set -l pending
    set -l ended
    set -l options # OPTION=VALUE, or OPTION alone
    set -l operands
    set -l action
    set -l ensemble
    set -l valued (string match -rv -- -- $__zkflock_valued | string trim -c - | string join '')
    for word in $words[2..]
        if set -q operands[1]
            set -a operands $word
        else if set -q pending[1]
            set -a options "$pending=$word"
            set -e pending[1]
        else if set -q ended[1]; or not string match -rq -- '^-.' $word
            set -a operands $word
        else if test "$word" = --
            set ended yes
        else if contains -- $word $__zkflock_valued
            set pending $word
        else if string match -q -- '--*' $word
            set -a options $word
        else
            # A cluster: flags, then perhaps one with a value.
            set -l part (string match -r -- "^-([^$valued]*)([$valued]?)(.*)\$" $word)
            string match -q '*u*' -- $part[2]; and set -a options --unlock
            if test -n "$part[4]"
                set -a options "-$part[3]=$part[4]"
            else if test -n "$part[3]"
                set pending "-$part[3]"
            end
        end
    end
    for option in $options
        switch $option
            case --hold --unlock --list --revoke --break --remove --show-config
                set action $option
            case --tls
                set -a ensemble $option
            case '--config=*' '--servers=*' '-z=*' '--auth-file=*' '--cacert=*' '--cert=*' '--key=*'
                set -l part (string split -m 1 = -- $option)
                string match -rq '^\$(?<variable>\w+)$' -- $part[2]; and set part[2] $$variable
                set -a ensemble $part[1] (string replace -r '^~/' "$HOME/" -- $part[2])
        end
    end
    string join \n -- $$argv[1]
end

function __zkflock_expects_option
    test (count (__zkflock_typed operands)) -eq 0
end

function __zkflock_expects_lock
    __zkflock_expects_option; or test "$(__zkflock_typed action)" = --list
end

function __zkflock_expects_command
    not __zkflock_expects_option; and test -z "$(__zkflock_typed action)"
end

# -c stands right behind LOCK, and one word behind it.
function __zkflock_expects_shell_command
    set -l operands (__zkflock_typed operands)
    __zkflock_expects_command
    or return
    switch (count $operands)
        case 1
            return 0
        case 2
            contains -- $operands[2] -c --command
        case '*'
            return 1
    end
end

function __zkflock_locks
    set -l program (string replace -r '^~/' "$HOME/" -- (commandline -opc)[1])
    set -l options --list --names --connect-timeout 300ms (__zkflock_typed ensemble)
    command -q $program; and command $program $options 2>/dev/null </dev/null
end

# What would be completed if COMMAND were typed alone.
function __zkflock_command
    set -l words (__zkflock_typed operands)[2..]
    test "$words[1]" = --; and set -e words[1]
    set words (string escape -- $words) (commandline -ct)
    # -c is no command.
    string match -q -- '-*' $words[1]
    or complete --do-complete=(string join ' ' -- $words)
end

function __zkflock_signals
    __fish_make_completion_signals
    set -l prefix
    string match -rq '(^|=)SI' -- (commandline -ct); and set prefix SIG
    string match -rv ' (RT|IO$)' -- $__kill_signals | string replace -r '^\d+ ' "$prefix"
end

# Everything but what is offered below.
complete -c zkflock -f
complete -c zkflock -n __zkflock_expects_lock -a '(__zkflock_locks)' -d lock
complete -c zkflock -n __zkflock_expects_command -a '(__zkflock_command)'
complete -c zkflock -n __zkflock_expects_shell_command -s c -l command -x \
    -a '(__fish_complete_command)' -d 'Run one string through the shell'

set -g __zkflock_valued # the options that take a value

function __zkflock_option
    complete -c zkflock -n __zkflock_expects_option $argv
    argparse 's=+' 'l=+' 'a=' 'd=' F r x -- $argv
    set -q _flag_r; or set -q _flag_x
    and set -a __zkflock_valued -$_flag_s --$_flag_l
end

__zkflock_option -s x -s e -l exclusive -d 'An exclusive lock (the default)'
__zkflock_option -s s -l shared -d 'A shared lock: with others of its kind'
__zkflock_option -l permits -x -d 'One of N permits: up to N at once'
__zkflock_option -l unfair -d 'No queue: any waiter may be next'
__zkflock_option -l with -x -a '(__zkflock_locks)' -d 'This lock too'
__zkflock_option -l no-reentry -d 'Even if a zkflock around this one holds it'

__zkflock_option -l hold -d 'Hold LOCK until the calling process ends'
__zkflock_option -l export -d 'And print its environment, for eval'
__zkflock_option -l for -x -a '(__fish_complete_pids)' -d 'Hold it for that process'
__zkflock_option -s u -l unlock -d 'Give back what --hold holds'

__zkflock_option -l list -d 'Print who holds and who waits'
__zkflock_option -l json -d 'In JSON'
__zkflock_option -l watch -d 'And go on to show every change'
__zkflock_option -l names -d 'The names of locks alone'
__zkflock_option -l held -d 'Only the locks that are held'
__zkflock_option -l revoke -d 'Ask the holder to release LOCK'
__zkflock_option -l break -d 'Take LOCK away from its holder at once'
__zkflock_option -l yes -d 'Do not ask whether to do so'
__zkflock_option -l remove -d 'Delete a LOCK that nobody uses'

__zkflock_option -s n -l nb -l nonblock -l nonblocking \
    -d 'Give up at once if the lock is not free'
__zkflock_option -s w -l wait -l timeout -x -d 'Give up after waiting this long for others'
__zkflock_option -l deadline -x -d 'Give up or end COMMAND this long after the start'
__zkflock_option -s E -l conflict-exit-code -x -d 'Exit status when giving up'

__zkflock_option -l max-runtime -x -d 'End COMMAND if it runs longer than this'
__zkflock_option -l once-per -x -d 'Run only if the last success began longer ago than this'
__zkflock_option -l now -d 'Run even if it is not due, and count as a run'
__zkflock_option -l skip-exit-code -x -d 'Exit status when it is not run'
__zkflock_option -s F -l no-fork -d 'zkflock becomes COMMAND; helpers hold the lock'
__zkflock_option -l tree -d 'Release the lock when all that COMMAND started has ended'
__zkflock_option -s o -l close -d 'What COMMAND leaves behind is not under the lock'
__zkflock_option -l hook -r -a '(__fish_complete_command)' \
    -d 'Run COMMAND EVENT when something happens to the lock'

__zkflock_option -s z -l servers -x -d 'HOST:PORT,...[/CHROOT] of the ensemble'
__zkflock_option -l auth-file -r -F -d 'Authenticate with these credentials'
__zkflock_option -l tls -d 'Connect by TLS, and check the certificates of the servers'
__zkflock_option -l cacert -r -F -d 'Trust these certificates'
__zkflock_option -l cert -r -F -d 'The certificate of this client'
__zkflock_option -l key -r -F -d 'Its private key'
__zkflock_option -l acl -x -a 'open creator creator-read' -d 'Who may use what zkflock creates'
__zkflock_option -l show-command -x -a 'full name none' -d 'What others see of COMMAND'
__zkflock_option -l connect-timeout -x -d 'Give up if no server answers'
__zkflock_option -l retry -x -d 'Then try again, N times'
__zkflock_option -l retry-delay -x -d 'After this pause'
__zkflock_option -l session-timeout -x \
    -d 'How long the ensemble keeps the place of a client that is silent'
__zkflock_option -l node-style -x -a 'curator kazoo plain:' \
    -d 'The names of znodes, to share a queue'

__zkflock_option -l lease -x -d 'End COMMAND before this time is over'
__zkflock_option -l signal -x -a '(__zkflock_signals)' -d 'What ends the command first'
__zkflock_option -l kill-after -x -d 'What it then has until KILL'
__zkflock_option -l on-lost -x -a 'kill term warn' -d 'What to do to the command'
__zkflock_option -l lock-delay -x -d 'What to wait for a holder that vanished'

__zkflock_option -l config -r -F -d 'Read this instead of the usual files'
__zkflock_option -l show-config -d 'Print the settings and where each is set'
__zkflock_option -s v -l verbose -d "Report what happens; twice: ZooKeeper's log too"
__zkflock_option -l log-format -x -a 'text json' -d 'The form of messages'
__zkflock_option -l log-syslog -d "To the system's log as well"
__zkflock_option -s q -l quiet -d 'Report failures only'
__zkflock_option -s h -l help -d 'Print help'
__zkflock_option -s V -l version -d 'Print the version'

functions --erase __zkflock_option
