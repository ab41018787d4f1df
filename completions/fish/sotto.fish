# fish completion of sotto. Made by completions/generate.
function __sotto_complete_as_tool
    set -l words (commandline -opc)
    set -e words[1]
    complete -C "sotto-"(string join ' ' -- $words)" "(commandline -ct)
end
complete -c sotto -f
complete -c sotto -n __fish_is_first_token -s h -l help -d 'Show help information'
complete -c sotto -n __fish_is_first_token -l version -d 'Show the version'
complete -c sotto -n __fish_is_first_token -a help -d 'list the tools, or explain one'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a init -d 'create your identity, show its words once, publish its card'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a add -d 'add a contact from a card, a URI, a QR code or an id'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a keygen -d 'create an identity, restore it from words, print its public card'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a fingerprint -d 'show and compare safety numbers of keys'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a qr -d 'encode bytes in a QR code, and read it back to exactly these bytes'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a contact -d 'the address book and its trust: add, verify, block, accept'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a encrypt -d 'encrypt a file or pipe, or messages'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a decrypt -d 'decrypt a file or messages; print only authentic data'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a bridge -d 'exchange messages, keys and codes with other messengers'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a pad -d 'hide the length of data by padding, or remove the padding'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a send -d 'send envelopes through a relay, or keep them until it can be reached'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a recv -d 'receive envelopes from a relay'
complete -c sotto -n '__fish_is_first_token; or __fish_seen_subcommand_from help' -a relay -d 'run a relay, which stores and forwards messages without reading them'
complete -c sotto -n '__fish_seen_subcommand_from init' -l name -r -d 'Your name, included in the card'
complete -c sotto -n '__fish_seen_subcommand_from init' -l relay -r -d 'The relay where you fetch your mail, stored in the identity and card. Default: $SOTTO_RELAY'
complete -c sotto -n '__fish_seen_subcommand_from init' -l passphrase -r -d 'Passphrase of the identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto -n '__fish_seen_subcommand_from init' -l no-passphrase -d 'Create the identity without a passphrase'
complete -c sotto -n '__fish_seen_subcommand_from init' -l version -d 'Show the version'
complete -c sotto -n '__fish_seen_subcommand_from init' -s h -l help -d 'Show help information'
complete -c sotto -n '__fish_seen_subcommand_from add' -l name -r -d 'The name of the contact. Default: the name on the card'
complete -c sotto -n '__fish_seen_subcommand_from add' -l relay -r -d 'The relay to ask for the signed card. Default: $SOTTO_RELAY, else the one on the card, else yours'
complete -c sotto -n '__fish_seen_subcommand_from add' -s i -l identity -r -d 'Identity file. Default: $SOTTO_IDENTITY, else the default identity file'
complete -c sotto -n '__fish_seen_subcommand_from add' -l identity-passphrase -r -d 'Passphrase of a protected identity: @ENV:NAME, @FD:N or @FILE:PATH. Default: ask'
complete -c sotto -n '__fish_seen_subcommand_from add' -l version -d 'Show the version'
complete -c sotto -n '__fish_seen_subcommand_from add' -s h -l help -d 'Show help information'
complete -c sotto -n '__fish_seen_subcommand_from keygen fingerprint qr contact encrypt decrypt bridge pad send recv relay; and not __fish_is_first_token; and not __fish_seen_subcommand_from help' -a '(__sotto_complete_as_tool)'
