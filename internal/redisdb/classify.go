package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
)

// away are the answers of a server that cannot serve at present, or not this client: a fault of
// our own Redis, not of the command.
var away = []string{
	"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "UNKILLABLE",
	"OOM", "MISCONF", "NOREPLICAS", "UNBLOCKED", "NOAUTH", "WRONGPASS", "NOPERM",
	"ERR max number of clients reached", "ERR AUTH",
}

// wrong are the answers to commands that can never work.
var wrong = []string{"WRONGTYPE", "CROSSSLOT", "INVALIDOBJ", "NOTBUSY"}

// rules are the texts with which servers report that the ACL forbids a command, or a script at
// one.
var rules = []string{"NOPERM", "can't run this command", "can't access", "No permissions", "has no permissions"}

// Classify implements [fault.Classifier] for the errors of go-redis. Unknown errors stay
// unclassified.
func Classify(err error) fault.Class {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return fault.Unclassified
	case errors.Is(err, ErrNoMaster), isUnnamed(err): // before redis.Nil, which the latter may wrap
		return fault.Infrastructure
	case errors.Is(err, redis.Nil):
		return fault.Unclassified
	}
	var answer redis.Error
	if errors.As(err, &answer) {
		return classifyAnswer(answer.Error())
	}
	var network net.Error
	var stranger *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network), errors.As(err, &stranger),
		errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed),
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrPoolTimeout):
		return fault.Infrastructure
	}
	return fault.Unclassified
}

func classifyAnswer(text string) fault.Class {
	for _, prefix := range away {
		if starts(text, prefix) {
			return fault.Infrastructure
		}
	}
	for _, prefix := range wrong {
		if starts(text, prefix) {
			return fault.Permanent
		}
	}
	return fault.Unclassified
}

// Mark gives an error the class infrastructure if it has it. For a rule of the server, against which
// a retry cannot help, the error says what to allow the user; with allow "" it does not.
func Mark(err error, allow string) error {
	switch {
	case allow != "" && Forbidden(err):
		return fault.MarkInfrastructure(fmt.Errorf("the Redis user may not do what is needed; allow it %s: %w", allow, err))
	case Classify(err) == fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	}
	return err
}

// starts reports whether text begins with the words of prefix.
func starts(text, prefix string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && (rest == "" || rest[0] == ' ')
}

// Forbidden reports whether a server refused because its user is not permitted: a retry has the
// same result.
func Forbidden(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && slices.ContainsFunc(rules, func(words string) bool { return strings.Contains(answer.Error(), words) })
}
