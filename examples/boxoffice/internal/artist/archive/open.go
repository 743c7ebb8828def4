package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Open makes the Store that a URL names. It does no I/O except to find the
// credentials.
//
//	/folder or file:///folder                        a [Dir]
//	s3://bucket/prefix?region=eu-central-1           an [S3], credentials as the AWS tools find them
//	s3://key:secret@bucket/prefix?endpoint=http://…  another server that speaks S3
//
// Parameters of s3://: region (the environment's AWS_REGION, or us-east-1),
// endpoint (Amazon's of the region), timeout of a request (10s).
func Open(ctx context.Context, raw string) (Store, error) {
	at, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if at.folder != "" {
		return NewDir(at.folder)
	}
	return at.open(ctx, raw)
}

// Check returns the mistake in a URL, before anything is opened. The error never
// repeats a part that may be secret.
func Check(raw string) error {
	_, err := parse(raw)
	return err
}

// address has the parts of a URL.
type address struct {
	folder string // of a Dir; the rest is of an S3

	bucket, prefix string
	region         string // "" is the environment's
	endpoint       *url.URL
	key, secret    string
	timeout        time.Duration
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	// Such a prefix is the same in a URL, a signature and a listing.
	prefixName = regexp.MustCompile(`^([A-Za-z0-9_.-]+/)*$`)
)

func parse(raw string) (address, error) {
	scheme, _, isURL := strings.Cut(raw, "://")
	if !isURL {
		if !filepath.IsAbs(raw) {
			return address{}, errors.New("archive: it is no URL and no absolute path; write /folder, file:///folder or s3://bucket/prefix?region=…")
		}
		return address{folder: raw}, nil
	}
	u, err := kit.ParseURL(raw)
	if err != nil {
		return address{}, fmt.Errorf("archive: %w", err)
	}
	var a address
	switch scheme {
	case "file":
		a, err = ofFile(u)
	case "s3":
		a, err = ofS3(u)
	default:
		err = fmt.Errorf("unknown scheme %q; known are: file, s3", scheme)
	}
	if err != nil {
		return address{}, fmt.Errorf("archive: %w", err)
	}
	return a, nil
}

func ofFile(u *url.URL) (address, error) {
	if err := driver.NewParams(u).Err(); err != nil {
		return address{}, err
	}
	if u.Host != "" || !filepath.IsAbs(u.Path) {
		return address{}, errors.New("the URL names no absolute folder; write file:///folder")
	}
	return address{folder: u.Path}, nil
}

func ofS3(u *url.URL) (a address, err error) {
	params := driver.NewParams(u)
	endpoint := params.String("endpoint", "")
	a.region = params.String("region", "")
	a.timeout = params.Duration("timeout", 10*time.Second)
	if err := params.Err(); err != nil {
		return a, err
	}
	if a.prefix = strings.Trim(u.Path, "/"); a.prefix != "" {
		a.prefix += "/"
	}
	switch {
	case !bucketName.MatchString(u.Host):
		return a, errors.New("the URL names no bucket of 3 to 63 small letters, digits, dots and dashes; write s3://bucket/prefix")
	case !prefixName.MatchString(a.prefix) || strings.Contains("/"+a.prefix, "/./") || strings.Contains("/"+a.prefix, "/../"):
		return a, errors.New("the prefix may have letters, digits, _, - and dots, between slashes")
	case a.region != "" && !regionName.MatchString(a.region):
		return a, errors.New("the parameter region is no region; write ?region=eu-central-1")
	case a.timeout < 10*time.Millisecond || a.timeout > 5*time.Minute:
		return a, fmt.Errorf("the timeout is %v; give 10ms to 5m", a.timeout)
	}
	a.bucket = u.Host
	if endpoint != "" {
		if a.endpoint, err = kit.ParseURL(endpoint); err != nil || (a.endpoint.Scheme != "http" && a.endpoint.Scheme != "https") ||
			a.endpoint.Host == "" || a.endpoint.User != nil || a.endpoint.RawQuery != "" || strings.Trim(a.endpoint.Path, "/") != "" {
			return a, errors.New("the endpoint is no URL of a server; write ?endpoint=http://host:port")
		}
	}
	if u.User != nil {
		a.key = u.User.Username()
		a.secret, _ = u.User.Password()
		if a.key == "" || a.secret == "" {
			return a, errors.New("the URL has half of the credentials; write s3://key:secret@bucket, or neither")
		}
	}
	return a, nil
}

func (a address) open(ctx context.Context, raw string) (*S3, error) {
	var options []func(*config.LoadOptions) error
	if a.region != "" {
		options = append(options, config.WithRegion(a.region))
	}
	if a.key != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(a.key, a.secret, "")))
	}
	account, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, kit.HideURL(fmt.Errorf("archive: credentials: %w", err), raw)
	}
	if a.region = account.Region; a.region == "" {
		a.region = "us-east-1"
	}
	if a.endpoint == nil {
		a.endpoint = &url.URL{Scheme: "https", Host: "s3." + a.region + ".amazonaws.com"}
	}
	return newS3(a, aws.NewCredentialsCache(account.Credentials), raw), nil
}
