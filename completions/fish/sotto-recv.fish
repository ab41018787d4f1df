# fish completion of recv. Made by completions/generate.
complete -c sotto-recv -c recv -f
complete -c sotto-recv -c recv -s i -l identity -r -F -d 'Identity file. Default: $SOTTO_IDENTITY, else the default identity file'
complete -c sotto-recv -c recv -l identity-passphrase -x -d 'Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-recv -c recv -l relay -x -d 'The relay, tcp://host:port. Default: $SOTTO_RELAY'
complete -c sotto-recv -c recv -s f -l follow -d 'Go on receiving, through lost connections, until stopped'
complete -c sotto-recv -c recv -l wait -x -d 'Wait so long for the first or next envelope'
complete -c sotto-recv -c recv -l max -x -d 'End after so many envelopes'
complete -c sotto-recv -c recv -l exec -x -d 'Run this in sh for each envelope, which it gets on stdin; the relay lets go of it when that exits 0. After five failures it is put aside'
complete -c sotto-recv -c recv -l stateless -d 'Keep no inbox: tell the relay only once an envelope is printed'
complete -c sotto-recv -c recv -l lock-timeout -x -d 'Wait so long for another process that uses the state'
complete -c sotto-recv -c recv -s q -l quiet -d 'No notes on stderr'
complete -c sotto-recv -c recv -l version -d 'Show the version'
complete -c sotto-recv -c recv -s h -l help -d 'Show help information'
