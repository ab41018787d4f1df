# What a tool's --dump-help says, put as the completions need it.

def option:
  {
    short: ([.names[] | select(startswith("--") | not) | ltrimstr("-")] | first),
    long: ([.names[] | select(startswith("--")) | ltrimstr("--")] | first),
    repeats,
    abstract: (.help | gsub("\\s+"; " ") | rtrimstr(".")),
    value,
    values: .choices,
    # A card is, as a rule, the file that holds it.
    takesFile: (.value | IN("file", "card")),
  };

def form:
  {
    name,
    abstract: (.abstract | rtrimstr(".")),
    options: [.arguments[] | select(.names != []) | option],
    files: ([.arguments[] | select(.names == [])] != []),
  };

# The tool alone, or each of its subcommands, the default one first.
def forms:
  .default as $default | .commands | sort_by(.name != $default) | map(form);

def isPlain: forms == [];
def plainForm: form;

# The words that stand for an option.
def words: [.short | values | "-" + .] + [.long | values | "--" + .];
