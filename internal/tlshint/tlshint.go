// Package tlshint adds to the error of a failed TLS connection the setting to correct.
package tlshint

import (
	"crypto/x509"
	"errors"
	"fmt"
)

// Untrusted completes the error of a client that does not trust the authority of a server's
// certificate: it names the server, and the setting that trusts the authority. Other errors are
// returned unchanged.
func Untrusted(err error, server, setting string) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok {
		return err
	}
	return fmt.Errorf("%w; no authority that is trusted has signed the certificate of %s: give the file of its authority, in PEM, by %s", err, server, setting)
}

// Plain completes the error of a client without TLS whose server may require TLS: it names the
// server, and the setting that enables TLS.
func Plain(err error, server, setting string) error {
	return fmt.Errorf("%w; if %s wants TLS, ask for it by %s", err, server, setting)
}
