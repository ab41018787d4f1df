# A help dump to a completion for fish.
include "dump";

def quoted: "'" + gsub("(?<c>['\\\\])"; "\\\(.c)") + "'";

def line($tool; $condition):
  "complete -c sotto-\($tool) -c \($tool)"
  + (if $condition == "" then "" else " -n '\($condition)'" end)
  + (if .short then " -s \(.short)" else "" end)
  + (if .long then " -l \(.long)" else "" end)
  + (if .value == null then ""
     elif .values != [] then " -x -a '\(.values | join(" "))'"
     elif .offers != [] then
       " -r \(if .takesFile then "-F" else "-f" end) -a '(__sotto_names \(.offers | join(" ")))'"
     elif .takesFile then " -r -F"
     else " -x" end)
  + " -d \(.abstract | quoted)";

# What stands for itself: kinds and names.
def words($tool; $condition):
  "complete -c sotto-\($tool) -c \($tool)"
  + (if $condition == "" then "" else " -n '\($condition)'" end)
  + (if .kinds != [] then " -a '\(.kinds | join(" "))'"
     elif .offers != [] then " -a '(__sotto_names \(.offers | join(" ")))'"
     else empty end);

.name as $tool
| "# fish completion of \($tool). Made by completions/generate.",
  (if hasNames then fishNames else empty end),
  (if isPlain then
     plainForm
     | (if .files then empty else "complete -c sotto-\($tool) -c \($tool) -f" end),
       (.options[] | line($tool; "")), words($tool; "")
   else
     ([forms[].name] | join(" ")) as $names | (.default != null) as $default
     | forms as $forms
     | ($forms[]
        | "complete -c sotto-\($tool) -c \($tool) -n '__fish_is_first_token' -a \(.name)"
          + " -d \(.abstract | quoted)"),
       ($forms[0] | .options[]
        | line($tool; "not __fish_seen_subcommand_from \($forms[1:] | map(.name) | join(" "))")),
       ($forms[0] | select($default) | words($tool; "not __fish_seen_subcommand_from \($names)")),
       ($forms[1:][] | .name as $name | .options[]
        | line($tool; "__fish_seen_subcommand_from \($name)")),
       ((if $default then $forms[1:] else $forms end)[]
        | words($tool; "__fish_seen_subcommand_from \(.name)"))
   end)
