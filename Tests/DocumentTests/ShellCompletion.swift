import Foundation
import TestSupport

/// What a shell offers for the last word of a command line, with completions that were made.
struct ShellCompletion {
    let shell: Peer
    /// The path of the completions: a folder for each shell.
    let made: String
    /// The home of the user, whose identity is alice.key.
    let home: Home

    /// Returns the words for each of some lines. The programs have both of their names.
    func words(for lines: [String]) throws -> [String: [String]] {
        home.files.write("lines", Array(lines.map { $0 + "\n" }.joined().utf8))
        let printed =
            switch shell.name {
            case "bash": try run(["-c", Self.bash])
            case "fish": try run(["-c", Self.fish])
            default: try runZsh()
            }
        var words: [String: [String]] = [:]
        for row in printed.split(separator: "\n") {
            let parts = row.split(separator: "\t", omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw NoWord(row: String(row)) }
            words[String(parts[0]), default: []].append(String(parts[1]))
        }
        return words
    }

    /// A line that no script prints.
    struct NoWord: Error {
        let row: String
    }

    private func command(_ arguments: [String]) throws -> Command {
        let programs = home.files("programs")
        if !FileManager.default.fileExists(atPath: programs) {
            try FileManager.default.createDirectory(
                atPath: programs, withIntermediateDirectories: false)
            for tool in Repository.tools + ["sotto"] {
                for name in Set([tool, tool == "sotto" ? tool : "sotto-" + tool]) {
                    try FileManager.default.createSymbolicLink(
                        atPath: programs + "/" + name, withDestinationPath: Programs.path(tool))
                }
            }
        }
        var environment = home.environment
        environment["PATH"] = "\(programs):/usr/bin:/bin"
        environment["LC_ALL"] = "C.UTF-8"
        environment["SOTTO_IDENTITY"] = home.files("alice.key")
        environment["MADE"] = made
        return Command(
            path: shell.path, arguments, environment: environment, directory: home.files.path)
    }

    private func run(_ arguments: [String]) throws -> String {
        let run = try command(arguments).run()
        guard run.status == 0 else { throw NoWord(row: run.stderr) }
        return run.text
    }

    private static let bash = #"""
        compopt() { :; }
        while IFS= read -r line; do
            COMP_WORDS=($line) COMPREPLY=()
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            program=${COMP_WORDS[0]}
            . "$MADE/bash/$program"
            if [[ $program == sotto ]]; then _sotto; else "_sotto_${program#sotto-}"; fi
            for word in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$line" "$word"; done
        done <lines
        """#

    private static let fish = #"""
        set -p fish_complete_path $MADE/fish
        while read -l line
            for word in (complete -C $line | string replace -r '\t.*' '')
                printf '%s\t%s\n' $line $word
            end
        end <lines
        # Without it the status is that of the last loop, 1 if it had no word.
        exit 0
        """#

    /// zsh completes only in an interactive shell on a terminal. The words are those that its completions give to compadd.
    private static let zsh = #"""
        fpath=($MADE/zsh $fpath)
        autoload -Uz compinit
        compinit -u -D
        compadd() {
            local word
            local -a offered
            for word; do
                [[ $word == (-|--) ]] && break
                if [[ $word == -[OAD]* ]]; then builtin compadd "$@"; return; fi
            done
            builtin compadd -A offered "$@"
            for word in $offered; do print -r -- "$played"$'\t'"$word" >>offered; done
            builtin compadd "$@"
        }
        offer() { _main_complete; compstate[insert]= compstate[list]=; }
        zle -C offer list-choices offer
        play() {
            for played in ${(f)"$(<lines)"}; do
                BUFFER=$played CURSOR=$#played
                zle offer
            done
            BUFFER=exit
            zle accept-line
        }
        zle -N zle-line-init play
        """#

    private func runZsh() throws -> String {
        home.files.write(".zshrc", Array(Self.zsh.utf8))
        home.files.write("offered", [])
        _ = try TerminalSession(command(["-d", "-i"])).finish()
        return String(decoding: try home.files.read("offered"), as: UTF8.self)
    }
}
