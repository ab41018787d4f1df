# A help dump to a completion for zsh.
include "dump";

# Within the single quotes of an _arguments specification.
def explained: gsub("(?<c>[\\[\\]:\\\\])"; "\\\(.c)") | gsub("'"; "'\\''");

def action: if .values != [] then "(\(.values | join(" ")))" elif .offers != [] then "{_sotto_names \(.offers | join(" "))\(if .takesFile then "; _files" else "" end)}" elif .takesFile then "_files" else " " end;

# The function for names of contacts and groups, and for beginnings of the ids of senders of requests; without a terminal,
# so that no passphrase is asked for.
def nameFunctions:
  "_sotto_names() {",
  "    local kind",
  "    local -a list",
  "    for kind; do",
  "        case $kind in (contacts) list=(contact list) ;; (groups) list=(group list) ;; (*) list=(contact requests) ;; esac",
  "        local -a names=(${(f)\"$(setsid -w sotto $list --json -q </dev/null 2>/dev/null | sed -nE -e '\(names)')\"})",
  "        compadd -a names",
  "    done",
  "}";

def spec:
  (if .value == null then "" else ":\(.value):\(action)" end) as $value
  | "[\(.abstract | explained)]\($value)" as $rest
  | (if .value == null then "" else "=" end) as $equals
  | (if .value == null then "" else "+" end) as $plus
  | (if .short and .long then
       (if .repeats then "'*'" else "'(-\(.short) --\(.long))'" end)
       + "{-\(.short)\($plus),--\(.long)\($equals)}'\($rest)'"
     else "'" + (if .repeats then "*" else "" end) + "--\(.long)\($equals)\($rest)'" end);

def arguments($indent):
  ($indent + "_arguments -s -S \\",
   ((if .sends then ["${sotto_send:+\"--send[\(sendHelp)]\"}"] else [] end)
    + [.options[] | spec]
    + (if .kinds != [] then ["':kind:(\(.kinds | join(" ")))'", "'::file:_files'"]
       elif .offers != [] then ["'*:name:{_sotto_names \(.offers | join(" "))}'"]
       elif .files then ["'::file:_files'"] else [] end)
    | map($indent + "    " + .) | join(" \\\n")));

.name as $tool
| "#compdef sotto-\($tool) \($tool)",
  "# zsh completion of \($tool). Made by completions/generate.",
  (if hasNames then nameFunctions else empty end),
  (if isPlain then plainForm | arguments("")
   else
     "local form=\(forms[0].name)",
     "local -a forms=(\([forms[] | "'\(.name):\(.abstract | explained)'"] | join(" ")))",
     "if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
     "    _describe -t commands command forms",
     (impliedOffers | select(. != []) | "    _sotto_names \(join(" "))"),
     "    return",
     "fi",
     "if [[ $words[2] == (\([forms[].name] | join("|"))) ]]; then",
     "    form=$words[2]",
     "    shift words",
     "    (( CURRENT-- ))",
     "fi",
     "case $form in",
     (forms[] | "\(.name))", arguments("    "), "    ;;"),
     "esac"
   end)
