# A help dump to a completion for bash. The function's name is sotto's own, so that no other can clash.
include "dump";

def quoted: "'" + join(" ") + "'";

def offers($indent):
  ($indent + "case $prev in",
   (.options[] | select(.value != null)
    | $indent + (words | join(" | ")) + ") "
      + (if .values != [] then "COMPREPLY=($(compgen -W \(.values | quoted) -- \"$cur\")); return"
         elif .offers != [] and .takesFile then
           "_sotto_names \(.offers | join(" ")); COMPREPLY+=($(compgen -f -- \"$cur\")); compopt -o filenames; return"
         elif .offers != [] then "_sotto_names \(.offers | join(" ")); compopt +o default; return"
         elif .takesFile then "return"
         else "compopt +o default; return" end) + " ;;"),
   $indent + "esac",
   $indent + "if [[ $cur == -* ]]; then",
   $indent + "    COMPREPLY=($(compgen -W \([.options[] | words[]] | quoted)"
     + (if .sends then "\" ${sotto_send-}\"" else "" end) + " -- \"$cur\"))",
   (if .kinds != [] then
      $indent + "else", $indent + "    COMPREPLY=($(compgen -W \(.kinds | quoted) -- \"$cur\"))"
    elif .offers != [] then $indent + "else", $indent + "    _sotto_names \(.offers | join(" "))"
    elif .files then empty
    else $indent + "else", $indent + "    compopt +o default" end),
   $indent + "fi");

.name as $tool
| "# bash completion of \($tool). Made by completions/generate.",
  (if hasNames then
     "# The names of contacts and groups, and the beginnings of the ids of senders of requests; without a terminal, so that no",
     "# passphrase is asked for.",
     "_sotto_names() {",
     "    local kind name list",
     "    for kind; do",
     "        case $kind in contacts) list='contact list' ;; groups) list='group list' ;; *) list='contact requests' ;; esac",
     "        while IFS= read -r name; do",
     "            [[ $name == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$name\")\")",
     "        done < <(setsid -w sotto $list --json -q </dev/null 2>/dev/null | sed -nE -e '\(names)')",
     "    done",
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
     (impliedOffers | select(. != []) | "        _sotto_names \(join(" "))"),
     "        return",
     "    fi",
     "    case $form in",
     (forms[] | "    \(.name))", offers("        "), "        ;;"),
     "    esac"
   end),
  "}",
  "complete -o default -F _sotto_\($tool) sotto-\($tool) \($tool)"
