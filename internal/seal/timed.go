package seal

import (
	"crypto/hmac"
	"encoding/base64"
	"strconv"
	"time"
)

// PassLasts is how far the time in a signature may be from now, before or after.
const PassLasts = 30 * time.Second

// CheckTimed says whether signature is that of the text, which holds the time, and
// whether that time is near.
func CheckTimed(keys []*Key, id, at, signature, text string) error {
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	seconds, errAt := strconv.ParseInt(at, 10, 64)
	if err != nil || errAt != nil || strconv.FormatInt(seconds, 10) != at {
		return ErrMalformed
	}
	for _, k := range keys {
		if k.Name == id && hmac.Equal(given, Sum(k.Secret(), text)) {
			return inTime(seconds)
		}
	}
	return ErrSignature
}

func inTime(seconds int64) error {
	now := time.Now().Unix()
	limit := int64(PassLasts / time.Second)
	switch {
	case seconds < now-limit:
		return ErrExpired
	case seconds > now+limit:
		return ErrNotYet
	}
	return nil
}
