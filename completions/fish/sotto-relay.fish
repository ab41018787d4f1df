# fish completion of relay. Made by completions/generate.
complete -c sotto-relay -c relay -f
complete -c sotto-relay -c relay -l listen -x -d 'Listen on this address; port 0 takes any free port'
complete -c sotto-relay -c relay -l store -r -F -d 'Keep everything in this SQLite file'
complete -c sotto-relay -c relay -l name -x -d 'A host:port under which clients dial this relay; may be repeated'
complete -c sotto-relay -c relay -l ttl -x -d 'Days until a message that nobody takes is let go'
complete -c sotto-relay -c relay -l mailbox-messages -x -d 'The most messages in one mailbox'
complete -c sotto-relay -c relay -l mailbox-bytes -x -d 'The most bytes in one mailbox: 100MB, 1GB, or a plain number'
complete -c sotto-relay -c relay -l max-connections -x -d 'The most connections at once'
complete -c sotto-relay -c relay -l ready-file -r -F -d 'Write host:port to this file once clients can connect'
complete -c sotto-relay -c relay -l ready-fd -x -d 'Write host:port to this descriptor instead'
complete -c sotto-relay -c relay -s q -l quiet -d 'Say nothing but errors'
complete -c sotto-relay -c relay -l version -d 'Show the version'
complete -c sotto-relay -c relay -s h -l help -d 'Show help information'
