package pglog

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func is(err, target error) bool { return errors.Is(err, target) }

func has(s, part string) bool { return strings.Contains(s, part) }
