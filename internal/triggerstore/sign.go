package triggerstore

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	timestampHeader = "Openagent-Timestamp"
	nonceHeader     = "Openagent-Nonce"
	signatureHeader = "Openagent-Signature"

	version  = "v1"
	minNonce = 16
	maxNonce = 64
	maxTime  = 15 // digits of a timestamp, which is enough for 30,000 years
)

// A proof is what the headers of a request say.
type proof struct {
	at    time.Time
	stamp string // at, as it was signed
	nonce string
	mac   [sha256.Size]byte
}

var errHeaders = errors.New("the headers are not those of a signed request")

// readProof reads the headers of a request. There is one form of each value, so
// that what was signed is what is read.
func readProof(h http.Header) (proof, error) {
	var p proof
	var sum string
	for name, value := range map[string]*string{timestampHeader: &p.stamp, nonceHeader: &p.nonce, signatureHeader: &sum} {
		values := h.Values(name)
		if len(values) != 1 {
			return proof{}, errHeaders
		}
		*value = values[0]
	}
	if len(p.stamp) > maxTime || strings.HasPrefix(p.stamp, "0") || strings.Trim(p.stamp, "0123456789") != "" {
		return proof{}, errHeaders
	}
	ms, err := strconv.ParseInt(p.stamp, 10, 64)
	if err != nil || !isToken(p.nonce, minNonce, maxNonce) {
		return proof{}, errHeaders
	}
	p.at = time.UnixMilli(ms)
	sum, ok := strings.CutPrefix(sum, version+"=")
	if !ok || len(sum) != hex.EncodedLen(len(p.mac)) || strings.ToLower(sum) != sum {
		return proof{}, errHeaders
	}
	if _, err := hex.Decode(p.mac[:], []byte(sum)); err != nil {
		return proof{}, errHeaders
	}
	return p, nil
}

// write sets the headers.
func (p proof) write(h http.Header) {
	h.Set(timestampHeader, p.stamp)
	h.Set(nonceHeader, p.nonce)
	h.Set(signatureHeader, version+"="+hex.EncodeToString(p.mac[:]))
}

// A message is what is signed of a request, but for time and nonce.
type message struct {
	method, host, target string
	body                 [sha256.Size]byte
}

func (m message) mac(s Secret, stamp, nonce string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, []byte(s))
	h.Write([]byte(strings.Join([]string{"openagent-trigger-" + version, m.method, m.host, m.target, stamp, nonce, hex.EncodeToString(m.body[:])}, "\n")))
	h.Sum(sum[:0])
	return sum
}

// sign makes the proof of a message.
func (m message) sign(s Secret, now time.Time) proof {
	p := proof{stamp: strconv.FormatInt(now.UnixMilli(), 10), nonce: rand.Text()}
	p.mac = m.mac(s, p.stamp, p.nonce)
	return p
}

// stranger stands in for secrets that are not there, so that it takes as long to
// refuse a request to a trigger that there is not.
var stranger = NewSecret()

// signed reports whether p is the proof of m under one of the secrets.
func (m message) signed(p proof, secrets []Secret) bool {
	ok := false
	for i := range maxSecrets {
		s := stranger
		if i < len(secrets) {
			s = secrets[i]
		}
		sum := m.mac(s, p.stamp, p.nonce)
		if hmac.Equal(sum[:], p.mac[:]) && i < len(secrets) {
			ok = true
		}
	}
	return ok
}
