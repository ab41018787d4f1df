# fish completion of recv. Made by completions/generate.
# The names of the contacts; without a terminal, so that no passphrase is asked for.
function __sotto_contacts
    setsid -w sotto contact list --json -q </dev/null 2>/dev/null | string match -rg '"name":"([^"\\]*)"'
end
complete -c sotto-recv -c recv -f
complete -c sotto-recv -c recv -s i -l identity -r -F -d 'Identity file. Default: $SOTTO_IDENTITY, else the default identity file'
complete -c sotto-recv -c recv -l identity-passphrase -x -d 'Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-recv -c recv -l relay -x -d 'The relay, tcp:, tls:, ws:, wss:, http: or https://host:port, perhaps with #sha256=PIN. Default: $SOTTO_RELAY, else the identity\'s'
complete -c sotto-recv -c recv -l ca -r -F -d 'Who may vouch for the relay\'s certificate: a PEM file. Default: $SOTTO_CA, else the system\'s'
complete -c sotto-recv -c recv -s f -l follow -d 'Go on receiving, through lost connections, until stopped'
complete -c sotto-recv -c recv -l wait -x -d 'Wait so long for the first or next envelope'
complete -c sotto-recv -c recv -l max -x -d 'End after so many envelopes'
complete -c sotto-recv -c recv -l exec -x -d 'Run this in sh for each envelope, which it gets on stdin; the relay deletes the envelope when that exits 0. After five failures it becomes a dead letter; with --follow it is tried again after 1 to 60 s'
complete -c sotto-recv -c recv -l again -d 'Print again what was printed before and decrypt has not finished with. Needs no relay'
complete -c sotto-recv -c recv -l dead -d 'Print, or give to --exec, what was put aside after five failures, and let go of it'
complete -c sotto-recv -c recv -l bundle -r -F -a '(__sotto_contacts)' -d 'Claim a bundle of this contact or card, to begin a session with; print it, and keep it for encrypt'
complete -c sotto-recv -c recv -l card -r -F -a '(__sotto_contacts)' -d 'Ask the relay\'s directory for the card of this contact or id, and print it; trust in it is yours to give'
complete -c sotto-recv -c recv -l invitation -x -d 'Redeem a code of relay invite, and become a member: @ENV:NAME, @FD:N or @FILE:PATH'
complete -c sotto-recv -c recv -l login-key -x -d 'Log in with this RSA key, a PEM file that keygen login-key made, for --of; as --stateless'
complete -c sotto-recv -c recv -l login-password -x -d 'Password of the login key: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-recv -c recv -l of -r -F -a '(__sotto_contacts)' -d 'Whose mail, with --login-key: a card or an id'
complete -c sotto-recv -c recv -l stateless -d 'Keep no inbox: tell the relay only once an envelope is printed'
complete -c sotto-recv -c recv -l no-bundles -d 'Claim no prekeys of contacts ahead. Their relays are then not connected to'
complete -c sotto-recv -c recv -l lock-timeout -x -d 'Wait so long for another process that uses the state'
complete -c sotto-recv -c recv -s q -l quiet -d 'No notes on stderr'
complete -c sotto-recv -c recv -l version -d 'Show the version'
complete -c sotto-recv -c recv -s h -l help -d 'Show help information'
