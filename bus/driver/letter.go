package driver

import "github.com/ThreeDotsLabs/watermill/message"

// LetterBytes is the most that a dead letter adds to the bytes of its message, once its stack is
// removed and its error is cut. A transport that bounds messages keeps this much free in each
// published message, so that its dead letter fits too.
const LetterBytes = 2 << 10

// IsLetter reports whether a message is a dead letter.
func IsLetter(m *message.Message) bool { return m.Metadata[DLQOriginalTopic] != "" }
