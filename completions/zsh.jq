# A help dump to a completion for zsh.
include "dump";

# Within the single quotes of an _arguments specification.
def explained: gsub("(?<c>[\\[\\]:\\\\])"; "\\\(.c)") | gsub("'"; "'\\''");

def action: if .values != [] then "(\(.values | join(" ")))" elif .takesContact then "_sotto_cards" elif .takesFile then "_files" else " " end;

# The functions for the names of contacts; without a terminal, so that no passphrase is asked for.
def contactFunctions:
  "_sotto_contacts() {",
  "    local -a names=(${(f)\"$(setsid -w sotto contact list --json -q </dev/null 2>/dev/null |",
  "        sed -n 's/.*\"name\":\"\\([^\"\\]*\\)\".*/\\1/p')\"})",
  "    compadd -a names",
  "}",
  "_sotto_cards() { _alternative 'contacts:contact:_sotto_contacts' 'files:file:_files' }";

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
   ([.options[] | spec]
    + (if .kinds != [] then ["':kind:(\(.kinds | join(" ")))'", "'::file:_files'"]
       elif .contacts then ["'*:contact:_sotto_contacts'"]
       elif .files then ["'::file:_files'"] else [] end)
    | map($indent + "    " + .) | join(" \\\n")));

.name as $tool
| "#compdef sotto-\($tool) \($tool)",
  "# zsh completion of \($tool). Made by completions/generate.",
  (if hasContacts then contactFunctions else empty end),
  (if isPlain then plainForm | arguments("")
   else
     "local form=\(forms[0].name)",
     "local -a forms=(\([forms[] | "'\(.name):\(.abstract | explained)'"] | join(" ")))",
     "if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then",
     "    _describe -t commands command forms",
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
