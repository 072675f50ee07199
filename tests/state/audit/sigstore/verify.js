// Runs: tests. verify.js MODULES CERTIFICATE KEY.PEM: @sigstore/verify, found in MODULES, takes the certificate's envelope; then each byte of the
// envelope is changed in two ways, and each change is refused or reads as the same statement. Prints what it counted.
"use strict";
const fs = require("fs");
const path = require("path");
const crypto = require("crypto");

const [modules, file, pem] = process.argv.slice(2);
const { Verifier, toSignedEntity, toTrustMaterial } = require(path.join(modules, "@sigstore/verify"));
const { bundleFromJSON } = require(path.join(modules, "@sigstore/bundle"));

const der = crypto.createPublicKey(fs.readFileSync(pem)).export({ type: "spki", format: "der" });
const keyid = crypto.createHash("sha256").update(der).digest("hex");
const roots = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const verifier = new Verifier(toTrustMaterial(roots, { [keyid]: { rawBytes: der } }), { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0, tsaThreshold: 0 });

// The payload and its type of an envelope that verifies; throws for any other.
function open(text) {
    const bundle = bundleFromJSON({
        mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
        verificationMaterial: { publicKey: { hint: keyid }, tlogEntries: [] },
        dsseEnvelope: JSON.parse(text),
    });
    verifier.verify(toSignedEntity(bundle));
    const envelope = bundle.content.dsseEnvelope;
    return { payload: Buffer.from(envelope.payload), type: envelope.payloadType };
}

const whole = fs.readFileSync(file);
const right = open(whole.toString("utf8"));
const statement = JSON.parse(right.payload.toString("utf8"));
if (right.type !== "application/vnd.in-toto+json" || statement._type !== "https://in-toto.io/Statement/v1")
    throw new Error("not an in-toto statement");

let refused = 0, same = 0;
for (let i = 0; i < whole.length; i++)
    for (const flip of [1 << i % 8, 0x20]) {
        const changed = Buffer.from(whole);
        let got;
        changed[i] ^= flip;
        try {
            got = open(changed.toString("latin1"));
        } catch {
            refused++;
            continue;
        }
        if (!got.payload.equals(right.payload) || got.type !== right.type)
            throw new Error(`byte ${i} ^ ${flip}: another statement was taken`);
        same++;
    }
console.log(`${refused} refused, ${same} read as the same statement, of ${whole.length} bytes`);
if (refused < whole.length)
    throw new Error("too few were refused: the signature does not count");
