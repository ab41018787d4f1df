# fish completion of recv. Made by completions/generate.
# The names of the contacts; without a terminal, so that no passphrase is asked for.
function __sotto_contacts
    setsid -w sotto contact list --json -q </dev/null 2>/dev/null | string match -rg '"name":"([^"\\]*)"'
end
complete -c sotto-recv -c recv -f
complete -c sotto-recv -c recv -s i -l identity -r -F -d 'Identity file. Default: $SOTTO_IDENTITY, else the default identity file'
complete -c sotto-recv -c recv -l identity-passphrase -x -d 'Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-recv -c recv -l relay -x -d 'The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, optionally with #sha256=PIN. Default: $SOTTO_RELAY, else the identity\'s relay'
complete -c sotto-recv -c recv -l ca -r -F -d 'PEM file of the authorities for the relay\'s certificate. Default: $SOTTO_CA, else the system\'s'
complete -c sotto-recv -c recv -s f -l follow -d 'Continue to receive, and reconnect when a connection is lost, until stopped'
complete -c sotto-recv -c recv -l wait -x -d 'Wait this long for the first or next envelope'
complete -c sotto-recv -c recv -l max -x -d 'End after this many envelopes'
complete -c sotto-recv -c recv -l exec -x -d 'Run this command in sh for each envelope, with the envelope on stdin; the relay deletes it when the command exits with 0. After five failures it becomes a dead letter; with --follow it is retried after 1 to 60 s'
complete -c sotto-recv -c recv -l again -d 'Print envelopes again that were printed before and that decrypt has not finished. Needs no relay'
complete -c sotto-recv -c recv -l dead -d 'Print the dead letters, or pass them to --exec, and delete them'
complete -c sotto-recv -c recv -l bundle -r -F -a '(__sotto_contacts)' -d 'Claim a prekey bundle of this contact or card, to begin a session; print it, and store it for encrypt'
complete -c sotto-recv -c recv -l card -r -F -a '(__sotto_contacts)' -d 'Ask the relay\'s directory for the card of this contact or id, and print it; the relay does not vouch for its owner'
complete -c sotto-recv -c recv -l invitation -x -d 'Redeem an invitation code from relay invite to become a member: @ENV:NAME, @FD:N or @FILE:PATH'
complete -c sotto-recv -c recv -l login-key -x -d 'Log in for --of with this RSA key, a PEM file from bridge login-key; implies --stateless'
complete -c sotto-recv -c recv -l login-password -x -d 'Password of the login key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-recv -c recv -l of -r -F -a '(__sotto_contacts)' -d 'The owner of the mailbox, with --login-key: a card or an id'
complete -c sotto-recv -c recv -l stateless -d 'Use no inbox: the relay deletes an envelope after it is printed'
complete -c sotto-recv -c recv -l no-bundles -d 'Do not claim prekeys of contacts in advance, and do not connect to their relays'
complete -c sotto-recv -c recv -l lock-timeout -x -d 'Wait at most this long for another process that uses the state'
complete -c sotto-recv -c recv -s q -l quiet -d 'Print no notes on stderr'
complete -c sotto-recv -c recv -l version -d 'Show the version'
complete -c sotto-recv -c recv -s h -l help -d 'Show help information'
