# What a tool's --experimental-dump-help says, put as the completions need it.

def option:
  {
    short: ([.names[] | select(.kind == "short") | .name] | first),
    long: ([.names[] | select(.kind == "long") | .name] | first),
    repeats: .isRepeating,
    abstract: (.abstract // "" | gsub("\\s+"; " ") | rtrimstr(".")),
    value: (if .kind == "flag" then null else .valueName end),
    values: (.allValues // []),
    # A card is, as a rule, the file that holds it.
    takesFile: (.kind == "option" and (.valueName | IN("file", "card"))),
  };

def form:
  {
    name: .commandName,
    abstract: (.abstract // "" | rtrimstr(".")),
    options: [.arguments[] | select(.kind != "positional" and .shouldDisplay) | option],
    files: ([.arguments[] | select(.kind == "positional")] != []),
  };

# The tool alone, or each of its subcommands, the default one first. The dump has a subcommand "help" that
# ArgumentParser adds; it is left out.
def forms:
  .command.defaultSubcommand as $default
  | [.command.subcommands[]? | select(.commandName != "help")]
  | sort_by(.commandName != $default)
  | map(form);

def isPlain: forms == [];
def plainForm: .command | form;

# The words that stand for an option.
def words: [.short | values | "-" + .] + [.long | values | "--" + .];
