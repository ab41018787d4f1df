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
    takesFile: (.value | IN("file", "card")),
    takesContact: (.value == "card"),
  };

def form:
  {
    name,
    abstract: (.abstract | rtrimstr(".")),
    options: [.arguments[] | select(.names != []) | option],
    files: ([.arguments[] | select(.names == [])] != []),
    # The words that a positional argument may be.
    kinds: [.arguments[] | select(.names == []) | .choices[]],
    # Whether a positional argument may be the name of a contact.
    contacts: any(.arguments[] | select(.names == []); .value | IN("name", "old")),
  };

# Whether the tool takes names of contacts somewhere.
def hasContacts:
  any(., .commands[]; form.contacts or any(.arguments[]; .names != [] and .value == "card"));

# The tool alone, or each of its subcommands, the default one first.
def forms:
  .default as $default | .commands | sort_by(.name != $default) | map(form);

def isPlain: forms == [];
def plainForm: form;

# The words that stand for an option.
def words: [.short | values | "-" + .] + [.long | values | "--" + .];
