package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
)

// Secrets encrypts what only the processes of a room may read, such as the seed of a
// draw, by AES-256 in GCM. It is bound to its event.
type Secrets struct{ keys []*Key }

// NewSecrets makes a Secrets with the keys of a ring.
func NewSecrets(ring *Ring) *Secrets { return &Secrets{keys: Keys(ring, "secret")} }

// Seal encrypts with the first key of the ring: its id, a random nonce of 12 bytes, and
// the text of GCM.
func (s *Secrets) Seal(plain []byte, event string) []byte {
	k := s.keys[0]
	aead := k.aead()
	out := append(make([]byte, 0, idSize+aead.NonceSize()+len(plain)+aead.Overhead()), k.id[:]...)
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return aead.Seal(append(out, nonce...), nonce, plain, []byte(event))
}

// Open decrypts with any key of the ring. Errors are [ErrMissing], [ErrMalformed], and
// [ErrSignature] where the key is not in the ring, or the event or the text is another.
func (s *Secrets) Open(sealed []byte, event string) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, ErrMissing
	}
	for _, k := range s.keys {
		aead := k.aead()
		if len(sealed) < idSize+aead.NonceSize()+aead.Overhead() {
			return nil, ErrMalformed
		}
		if [idSize]byte(sealed) != k.id {
			continue
		}
		nonce, text := sealed[idSize:idSize+aead.NonceSize()], sealed[idSize+aead.NonceSize():]
		if plain, err := aead.Open(nil, nonce, text, []byte(event)); err == nil {
			return plain, nil
		}
	}
	return nil, ErrSignature
}

func (k *Key) aead() cipher.AEAD {
	block, err := aes.NewCipher(k.Secret()) // of 32 bytes, as HMAC-SHA256 gives them
	if err != nil {
		panic("token: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("token: " + err.Error())
	}
	return aead
}
