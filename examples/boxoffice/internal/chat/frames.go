package chat

import (
	"encoding/json"
	"fmt"
	"time"
)

// frame is one write of a socket. Its bytes are shared by all receivers.
type frame struct {
	seq  int64 // of a message; 0 of anything else
	body []byte
	at   time.Time // when a message was sent that comes as it happens
}

func frameOf(m Message) frame {
	return frame{seq: m.Seq, body: encode(struct {
		Type string `json:"type"`
		Message
	}{"message", m})}
}

// readyFrame states that all messages after seq are sent as they happen.
func readyFrame(seq int64) frame {
	return frame{body: encode(struct {
		Type  string `json:"type"`
		After int64  `json:"after"`
	}{"ready", seq})}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only values of this package are marshaled
		panic(fmt.Sprintf("chat: marshal a frame: %v", err))
	}
	return b
}
