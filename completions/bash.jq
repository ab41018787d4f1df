# A help dump to a completion for bash. The function's name is sotto's own, so that no other can clash.
include "dump";

def quoted: "'" + join(" ") + "'";

def offers($indent):
  ($indent + "case $prev in",
   (.options[] | select(.value != null)
    | $indent + (words | join(" | ")) + ") "
      + (if .values != [] then "COMPREPLY=($(compgen -W \(.values | quoted) -- \"$cur\")); return"
         elif .takesContact then "_sotto_contacts; COMPREPLY+=($(compgen -f -- \"$cur\")); compopt -o filenames; return"
         elif .takesFile then "return"
         else "compopt +o default; return" end) + " ;;"),
   $indent + "esac",
   $indent + "if [[ $cur == -* ]]; then",
   $indent + "    COMPREPLY=($(compgen -W \([.options[] | words[]] | quoted) -- \"$cur\"))",
   (if .kinds != [] then
      $indent + "else", $indent + "    COMPREPLY=($(compgen -W \(.kinds | quoted) -- \"$cur\"))"
    elif .contacts then $indent + "else", $indent + "    _sotto_contacts"
    elif .files then empty
    else $indent + "else", $indent + "    compopt +o default" end),
   $indent + "fi");

.name as $tool
| "# bash completion of \($tool). Made by completions/generate.",
  (if hasContacts then
     "# The names of the contacts; without a terminal, so that no passphrase is asked for.",
     "_sotto_contacts() {",
     "    local IFS=$'\\n'",
     "    COMPREPLY=($(compgen -W \"$(setsid -w sotto contact list --json -q </dev/null 2>/dev/null |",
     "        sed -n 's/.*\"name\":\"\\([^\"\\]*\\)\".*/\\1/p')\" -- \"$cur\"))",
     "}"
   else empty end),
  "_sotto_\($tool)() {",
  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}",
  "    # bash takes --option=value for three words.",
  "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi",
  "    COMPREPLY=()",
  (if isPlain then plainForm | offers("    ")
   else
     "    local form=\(forms[0].name) word",
     "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do",
     "        case $word in \([forms[].name] | join(" | "))) form=$word; break ;; esac",
     "    done",
     "    if [[ $COMP_CWORD -eq 1 && $cur != -* ]]; then",
     "        COMPREPLY=($(compgen -W \([forms[].name] | quoted) -- \"$cur\"))",
     "        return",
     "    fi",
     "    case $form in",
     (forms[] | "    \(.name))", offers("        "), "        ;;"),
     "    esac"
   end),
  "}",
  "complete -o default -F _sotto_\($tool) sotto-\($tool) \($tool)"
