# fish completion of send. Made by completions/generate.
complete -c sotto-send -c send -f
complete -c sotto-send -c send -l relay -x -d 'The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, optionally with #sha256=PIN. Default: the relay that the line names, else $SOTTO_RELAY'
complete -c sotto-send -c send -l ca -r -F -d 'PEM file of the authorities for the relay\'s certificate. Default: $SOTTO_CA, else the system\'s'
complete -c sotto-send -c send -l list -d 'List the outbox for each relay, and send nothing'
complete -c sotto-send -c send -l json -d 'With --list: print records, one per line'
complete -c sotto-send -c send -l drop -x -d 'Delete the items with this id from the outbox, and send nothing; may be repeated'
complete -c sotto-send -c send -l lock-timeout -x -d 'Wait at most this long for another process that uses the state'
complete -c sotto-send -c send -s q -l quiet -d 'Print no notes on stderr'
complete -c sotto-send -c send -l version -d 'Show the version'
complete -c sotto-send -c send -s h -l help -d 'Show help information'
