# What a tool's --dump-help says, put as the completions need it.

def option:
  {
    short: ([.names[] | select(startswith("--") | not) | ltrimstr("-")] | first),
    long: ([.names[] | select(startswith("--")) | ltrimstr("--")] | first),
    repeats,
    abstract: (.help | gsub("\\s+"; " ") | rtrimstr(".")),
    value,
    values: .choices,
    # A card is, as a rule, the file that holds it, or the name of a contact.
    takesFile: (.value | IN("file", "card", "chat")),
  };

# What an argument can name: contacts, groups, and senders of message requests.
def offers($tool; $command):
  if .choices != [] then []
  elif .value == "who" and (.names != [] or ($command | IN("add", "introduce") | not)) then ["contacts", "groups"]
  elif .value == "card" and .names != [] then ["contacts"]
  elif .value == "group" or .names == ["--group"] then ["groups"]
  elif .names != [] then []
  elif $tool == "contact" and (.value | IN("name", "old")) then ["contacts"]
  elif $tool == "contact" and .value == "id" then ["requests", "contacts"]
  elif $command == "save" and .value == "what" then ["contacts", "groups"]
  else [] end;

def form($tool):
  .name as $command
  | {
    name,
    abstract: (.abstract | rtrimstr(".")),
    # Whether sotto takes --send with it.
    sends: (.sends == true),
    options: [.arguments[] | select(.names != []) | option + {offers: offers($tool; $command)}],
    files: ([.arguments[] | select(.names == [])] != []),
    # The words that a positional argument may be.
    kinds: [.arguments[] | select(.names == []) | .choices[]],
    # What a positional argument can name.
    offers: ([.arguments[] | select(.names == []) | offers($tool; $command)[]] | unique),
  };

# Whether the tool takes such names somewhere.
def hasNames:
  .name as $tool
  | any(., .commands[]; .name as $command | any(.arguments[]; offers($tool; $command) != []));

# The tool alone, or each of its subcommands, the default one first.
def forms:
  .name as $tool | .default as $default
  | .commands | sort_by(.name != $default) | map(form($tool));

# What the arguments of the default subcommand can name, if the tool has one.
def impliedOffers: if .default then forms[0].offers else [] end;

def isPlain: forms == [];
def plainForm: form(.name);

# The words that stand for an option.
def words: [.short | values | "-" + .] + [.long | values | "--" + .];

# What --send at sotto does.
def sendHelp: "Send what the command prints";

# A command of sed for the names in records. A sender of requests has no name, and 16 characters of the id are enough.
def names: "s/^\\{[^{]*\"name\":\"([^\"\\\\]*)\".*/\\1/p; t; s/^\\{[^{]*\"from\":\"([0-9a-f]{16}).*/\\1/p";

# The lines of fish for --send at sotto with this tool.
def fishSend:
  .name as $tool
  | [if isPlain then plainForm else forms[] end | select(.sends) | .name] | select(. != [])
  | "complete -c sotto -n '__fish_seen_subcommand_from \($tool); and __fish_seen_subcommand_from \(join(" "))"
    + "; and not __fish_seen_subcommand_from help' -l send -d '\(sendHelp)'";

# The function of fish for names of contacts and groups, and for beginnings of the ids of senders of requests; without a terminal,
# so that no passphrase is asked for.
def fishNames:
  "function __sotto_names",
  "    for kind in $argv",
  "        set -l list contact requests",
  "        test $kind = contacts; and set list contact list",
  "        test $kind = groups; and set list group list",
  "        setsid -w sotto $list --json -q </dev/null 2>/dev/null | sed -nE -e '\(names)'",
  "    end",
  "end";
