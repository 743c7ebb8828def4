package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// key returns the request's key, or "" if there is none and none is required.
func (h *HTTP) key(r *http.Request) (string, *problem) {
	values := r.Header.Values("Idempotency-Key")
	switch {
	case len(values) == 0 && h.cfg.Required:
		return "", missing()
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", invalid("it is there %d times; send it once", len(values))
	}
	key, err := parseKey(values[0])
	switch {
	case err != nil:
		return "", invalid("%v", err)
	case len(key) > h.cfg.MaxKey:
		return "", invalid("it has %d bytes; at most %d are allowed", len(key), h.cfg.MaxKey)
	}
	return key, nil
}

// parseKey parses the value of an Idempotency-Key header: a string of RFC 8941
// ("8e03978e-40d5-43dd"), as the draft demands, or the same without the quotes, as many clients
// send it. Both are the same key.
func parseKey(value string) (string, error) {
	value = strings.Trim(value, " \t")
	if value == "" {
		return "", errors.New("it is empty; send a new random value, such as a UUID, for each request")
	}
	if value[0] != '"' {
		for _, c := range []byte(value) {
			if c <= ' ' || c > '~' || strings.IndexByte(`",;\`, c) >= 0 {
				return "", errors.New(`without quotes it must be letters, digits and signs other than spaces, " , ; and \; send a UUID, or put it into quotes`)
			}
		}
		return value, nil
	}
	var b strings.Builder
	for i := 1; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			if i != len(value)-1 {
				return "", errors.New("something follows the closing quote; send one string without parameters")
			}
			if b.Len() == 0 {
				return "", errors.New("it is empty; send a new random value, such as a UUID, for each request")
			}
			return b.String(), nil
		case c == '\\':
			i++
			if i == len(value) || value[i] != '"' && value[i] != '\\' {
				return "", errors.New(`in quotes a backslash may stand only before " and \`)
			}
			b.WriteByte(value[i])
		case c < ' ' || c > '~':
			return "", errors.New("in quotes it may hold printable ASCII only")
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("the closing quote is missing")
}

// body reads the whole body.
func (h *HTTP) body(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	if r.ContentLength > h.cfg.MaxRequest {
		return nil, tooLarge(h.cfg.MaxRequest)
	}
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.cfg.MaxRequest))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(h.cfg.MaxRequest)
	case err != nil:
		return nil, incomplete()
	}
	return body, nil
}

// fingerprint identifies a request: by method, target, content type and body, each with its
// length, so that their boundaries are unambiguous. The body of a form that a middleware outside
// has parsed is empty by now: then the form's fields and files count.
func fingerprint(r *http.Request, body []byte) (string, error) {
	sum := sha256.New()
	add := func(parts ...string) {
		for _, part := range parts {
			_, _ = io.WriteString(sum, strconv.Itoa(len(part))+":"+part) // a hash never fails
		}
	}
	add(r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Content-Type"), string(body))
	if len(r.PostForm) > 0 {
		add(r.PostForm.Encode())
	}
	if r.MultipartForm != nil {
		for _, name := range slices.Sorted(maps.Keys(r.MultipartForm.File)) {
			for _, file := range r.MultipartForm.File[name] {
				content := sha256.New()
				if err := copyFile(content, file); err != nil {
					return "", err
				}
				add(name, file.Filename, string(content.Sum(nil)))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(to io.Writer, header *multipart.FileHeader) error {
	file, err := header.Open()
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(to, file)
	return err
}
