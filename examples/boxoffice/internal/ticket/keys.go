package ticket

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Keys sign tickets: the first one signs, all verify. They do not change after
// [ParseKeys].
type Keys struct {
	signer ed25519.PrivateKey
	id     string // of the signer
	public PublicKeys
}

// PublicKeys verify tickets, by the id of their key.
type PublicKeys map[string]ed25519.PublicKey

// ParseKeys reads one or more Ed25519 seeds, each 64 hexadecimal digits, separated by
// commas or white space. To change the key, put a new one before the old one: tickets
// that the old one signed are valid as long as it is listed.
func ParseKeys(text string) (*Keys, error) {
	seeds := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if len(seeds) == 0 {
		return nil, errors.New("there is no key; give 64 hexadecimal digits, such as the output of: openssl rand -hex 32")
	}
	k := &Keys{public: PublicKeys{}}
	for i, s := range seeds {
		seed, err := hex.DecodeString(s)
		if err != nil || len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("key %d of %d is not 64 hexadecimal digits; make one by: openssl rand -hex 32", i+1, len(seeds))
		}
		private := ed25519.NewKeyFromSeed(seed)
		public := private.Public().(ed25519.PublicKey)
		id := keyID(public)
		if k.public[id] != nil {
			return nil, fmt.Errorf("key %d of %d stands twice", i+1, len(seeds))
		}
		if k.public[id] = public; i == 0 {
			k.signer, k.id = private, id
		}
	}
	return k, nil
}

// String contains no key.
func (k *Keys) String() string { return fmt.Sprintf("%d ticket keys", len(k.public)) }

// GoString is String.
func (k *Keys) GoString() string { return k.String() }

// keyID names a key by its hash, so that operators need not invent names. It is short
// because every ticket carries it.
func keyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Public are the keys that verify.
func (k *Keys) Public() PublicKeys { return k.public }

// jwk is a public key as RFC 8037 writes it.
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	Algorithm string `json:"alg"`
	Use       string `json:"use"`
	ID        string `json:"kid"`
	X         string `json:"x"`
}

type jwkSet struct {
	Keys []jwk `json:"keys"`
}

// MarshalJSON writes the keys as a JSON Web Key Set.
func (p PublicKeys) MarshalJSON() ([]byte, error) {
	set := jwkSet{Keys: make([]jwk, 0, len(p))}
	for id, key := range p {
		set.Keys = append(set.Keys, jwk{"OKP", "Ed25519", "EdDSA", "sig", id, base64.RawURLEncoding.EncodeToString(key)})
	}
	return json.Marshal(set)
}

// UnmarshalJSON reads a JSON Web Key Set. Keys of another kind are skipped.
func (p *PublicKeys) UnmarshalJSON(data []byte) error {
	var set jwkSet
	if err := json.Unmarshal(data, &set); err != nil {
		return fmt.Errorf("ticket: read the key set: %w", err)
	}
	*p = PublicKeys{}
	for _, k := range set.Keys {
		if k.Type != "OKP" || k.Curve != "Ed25519" {
			continue
		}
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return fmt.Errorf("ticket: the key %q of the set has no Ed25519 value x", k.ID)
		}
		(*p)[k.ID] = x
	}
	return nil
}
