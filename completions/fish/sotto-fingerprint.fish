# fish completion of fingerprint. Made by completions/generate.
# The names of the contacts; without a terminal, so that no passphrase is asked for.
function __sotto_contacts
    setsid -w sotto contact list --json -q </dev/null 2>/dev/null | string match -rg '"name":"([^"\\]*)"'
end
complete -c sotto-fingerprint -c fingerprint -l with -r -F -a '(__sotto_contacts)' -d 'The other person\'s card or contact; shows the safety number'
complete -c sotto-fingerprint -c fingerprint -l check -x -d 'Compare with this number or its words, or with stdin for `-`; white space, dashes and colons are ignored. Exits with 0 or 14'
complete -c sotto-fingerprint -c fingerprint -l style -x -a 'sotto signal' -d 'sotto, or signal: libsignal\'s digits for the X25519 form of the keys'
complete -c sotto-fingerprint -c fingerprint -l key -x -d 'A raw key in hexadecimal instead of CARD'
complete -c sotto-fingerprint -c fingerprint -l user -x -d 'The user id for --key'
complete -c sotto-fingerprint -c fingerprint -l with-key -x -d 'A raw key instead of --with'
complete -c sotto-fingerprint -c fingerprint -l with-user -x -d 'The user id for --with-key'
complete -c sotto-fingerprint -c fingerprint -s i -l identity -r -F -d 'Identity file. Default: $SOTTO_IDENTITY, else the default identity file'
complete -c sotto-fingerprint -c fingerprint -l identity-passphrase -x -d 'Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto-fingerprint -c fingerprint -l json -d 'Print a JSON record'
complete -c sotto-fingerprint -c fingerprint -l words -d 'Words instead of digits: ten of the English BIP 39 list for each 30 digits'
complete -c sotto-fingerprint -c fingerprint -l randomart -d 'Add a picture of 17 by 9 squares, as drawn by ssh-keygen'
complete -c sotto-fingerprint -c fingerprint -l qr -d 'Draw the digits as a QR code too, using qr'
complete -c sotto-fingerprint -c fingerprint -s q -l quiet -d 'With --check, print nothing: the exit status is the result'
complete -c sotto-fingerprint -c fingerprint -l version -d 'Show the version'
complete -c sotto-fingerprint -c fingerprint -s h -l help -d 'Show help information'
