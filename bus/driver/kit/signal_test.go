package kit_test

import (
	"testing"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// A signal is kept until it is received, and signals sent before that are one.
func TestSignal(t *testing.T) {
	s := kit.NewSignal()
	s.Send()
	s.Send()
	<-s
	select {
	case <-s:
		t.Error("two signals were received")
	default:
	}
	s.Send()
	<-s
}
