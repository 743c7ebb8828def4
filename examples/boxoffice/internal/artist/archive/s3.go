package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

const (
	// s3Tries is how often a request is made that may succeed later.
	s3Tries = 4
	// s3Most bounds an object that is read, in bytes.
	s3Most = 16 << 20
)

// S3 is a [Store] in a bucket of an object store that speaks Amazon's protocol.
// Requests name the bucket in the path, and are signed (Signature Version 4) with the
// hash of their body, so that the server refuses an object that was damaged in
// transit.
type S3 struct {
	address
	raw         string // the URL, to hide its secrets in errors
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	client      *http.Client
	pause       bus.Backoff // between the tries of a request
}

func newS3(a address, c aws.CredentialsProvider, raw string) *S3 {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // net/http says so
	transport.MaxIdleConnsPerHost = 16
	return &S3{
		address: a, raw: raw, credentials: c,
		pause:  bus.Backoff{Initial: 400 * time.Millisecond, Max: 2 * time.Second, Jitter: .5},
		signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), // as S3 wants it
		client: &http.Client{
			Transport: transport,
			// A redirect is to another region, and has another signature.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes the connections that no request uses.
func (s *S3) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Put implements Store.
func (s *S3) Put(ctx context.Context, tier int, id string, data []byte) error {
	_, err := s.repeat(ctx, http.MethodPut, tier, id, data)
	return s.told("put", id, err)
}

// Get implements Store.
func (s *S3) Get(ctx context.Context, tier int, id string) ([]byte, error) {
	data, err := s.repeat(ctx, http.MethodGet, tier, id, nil)
	return data, s.told("get", id, err)
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, tier int, id string) error {
	_, err := s.repeat(ctx, http.MethodDelete, tier, id, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return s.told("delete", id, err)
}

func (s *S3) told(what, id string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	return kit.HideURL(fmt.Errorf("archive: %s %s in bucket %s: %w", what, id, s.bucket, err), s.raw)
}

// repeat makes a request, again while that may help.
func (s *S3) repeat(ctx context.Context, method string, tier int, id string, data []byte) ([]byte, error) {
	for try := 1; ; try++ {
		got, err := s.request(ctx, method, tier, id, data)
		var refused *refusal
		if err == nil || try == s3Tries || errors.As(err, &refused) && !refused.passes() {
			return got, err
		}
		if gone := kit.Sleep(ctx, s.pause.Delay(try)); gone != nil {
			return nil, errors.Join(gone, err)
		}
	}
}

// request makes one request, and returns all of the answer's body.
func (s *S3) request(ctx context.Context, method string, tier int, id string, data []byte) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	late := func(err error) error {
		if ctx.Err() == nil && bounded.Err() != nil {
			return fmt.Errorf("no answer within %v", s.timeout)
		}
		return err
	}
	as, err := s.credentials.Retrieve(bounded)
	if err != nil {
		return nil, late(fmt.Errorf("no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write s3://key:secret@bucket: %w", err))
	}
	at := *s.endpoint
	at.Path = "/" + s.bucket + "/" + s.prefix + objectName(tier, id)
	req, err := http.NewRequestWithContext(bounded, method, at.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	if err := s.signer.SignHTTP(bounded, as, req, hash, "s3", s.region, time.Now()); err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		var inner *url.Error // which repeats the URL
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, late(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read as far as it is of use
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, refusalOf(method, res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, s3Most+1))
	if err != nil {
		return nil, late(fmt.Errorf("the answer broke off after %d bytes: %w", len(body), err))
	}
	if len(body) > s3Most {
		return nil, fmt.Errorf("the object has more than %d bytes", s3Most)
	}
	return body, nil
}

// refusal is an answer with an error status.
type refusal struct {
	status int
	code   string // as S3 names it; "" when the answer does not say
}

var codeName = regexp.MustCompile(`^[A-Za-z0-9.]{1,64}$`)

func refusalOf(method string, res *http.Response) error {
	r := &refusal{status: res.StatusCode}
	var said struct{ Code string }
	if xml.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&said) == nil && codeName.MatchString(said.Code) {
		r.code = said.Code
	}
	if r.status == http.StatusNotFound && method != http.MethodPut && (r.code == "" || r.code == "NoSuchKey") {
		return ErrNotFound
	}
	return r
}

// passes reports whether the same request may be taken later.
func (r *refusal) passes() bool {
	return r.status >= 500 || r.status == http.StatusTooManyRequests || r.status == http.StatusRequestTimeout || r.code == "RequestTimeout"
}

func (r *refusal) Error() string {
	text := fmt.Sprintf("the server answers %d", r.status)
	if r.code != "" {
		text += " " + r.code
	}
	switch {
	case r.code == "NoSuchBucket":
		return text + "; make the bucket, or correct its name"
	case r.status >= 300 && r.status < 400 || r.code == "AuthorizationHeaderMalformed" || r.code == "IllegalLocationConstraintException":
		return text + "; name the bucket's own region by ?region="
	case r.code == "RequestTimeTooSkewed":
		return text + "; set this machine's clock"
	case r.status == http.StatusForbidden || r.status == http.StatusUnauthorized:
		return text + "; check the credentials, and that they may read, write and delete objects of the bucket"
	}
	return text
}
