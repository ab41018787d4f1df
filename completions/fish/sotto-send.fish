# fish completion of send. Made by completions/generate.
complete -c sotto-send -c send -f
complete -c sotto-send -c send -l relay -x -d 'The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, perhaps with #sha256=PIN. Default: the one that the line names, else $SOTTO_RELAY'
complete -c sotto-send -c send -l ca -r -F -d 'Who may vouch for the relay\'s certificate: a PEM file. Default: $SOTTO_CA, else the system\'s'
complete -c sotto-send -c send -l list -d 'Print what waits in the outbox, for each relay, and send nothing'
complete -c sotto-send -c send -l json -d 'With --list: print records, one a line'
complete -c sotto-send -c send -l drop -x -d 'Drop what waits in the outbox with this id, and send nothing; may be repeated'
complete -c sotto-send -c send -l lock-timeout -x -d 'Wait so long for another process that uses the state'
complete -c sotto-send -c send -s q -l quiet -d 'No notes on stderr'
complete -c sotto-send -c send -l version -d 'Show the version'
complete -c sotto-send -c send -s h -l help -d 'Show help information'
