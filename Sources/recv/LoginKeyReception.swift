import Sotto
import SottoClient
import SottoTool

/// Receives the envelopes of the owner of an RSA login key. It uses no inbox.
struct LoginKeyReception {
    /// The path of the PEM file.
    let key: String
    let password: SecretSource?
    /// A card or an id.
    let owner: String
    let relay: AskedRelay
    let receiving: Receiving

    func run() throws {
        let relay = try relay.find()
        let key = try KeyFile.loginKey(at: key, password)
        let id = try KeyID(RecipientArgument.pasted(owner)) ?? RecipientArgument.card(owner).id
        try receiving.run(Reception(owner: .loginKey(key, id), relay: relay))
    }
}
