# A help dump to a completion for bash. The function's name is sotto's own, so that no other can clash.
include "dump";

def quoted: "'" + join(" ") + "'";

def offers($indent):
  ($indent + "case $prev in",
   (.options[] | select(.value != null)
    | $indent + (words | join(" | ")) + ") "
      + (if .values != [] then "COMPREPLY=($(compgen -W \(.values | quoted) -- \"$cur\")); return"
         elif .takesFile then "return"
         else "compopt +o default; return" end) + " ;;"),
   $indent + "esac",
   $indent + "if [[ $cur == -* ]]; then",
   $indent + "    COMPREPLY=($(compgen -W \([.options[] | words[]] | quoted) -- \"$cur\"))",
   (if .files then empty else $indent + "else", $indent + "    compopt +o default" end),
   $indent + "fi");

.name as $tool
| "# bash completion of \($tool). Made by completions/generate.",
  "_sotto_\($tool)() {",
  "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}",
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
