package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// SOCKS5: RFC 1928.
const (
	socksVersion = 5

	noAuth   = 0x00
	noMethod = 0xff

	toConnect = 0x01

	isIPv4, isName, isIPv6 = 0x01, 0x03, 0x04

	done          = 0x00
	failed        = 0x01
	notAllowed    = 0x02
	noCommand     = 0x07
	noAddressKind = 0x08
	hostUnreached = 0x04
)

// socks serves a client that speaks SOCKS5. The deadline for all that comes before
// the tunnel is set.
func (p *Proxy) socks(c *client) {
	if agree(c) != nil {
		return
	}
	host, port, code, err := request(c.in)
	if err != nil {
		_ = reply(c, code)
		return
	}
	far, err := p.dial(p.life, host, port)
	if err != nil {
		code = hostUnreached
		var d *Denial
		if errors.As(err, &d) {
			code = notAllowed
		}
		_ = reply(c, code)
		return
	}
	defer far.Close()
	c.Admit()
	if reply(c, done) != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	p.tunnel(c, far)
}

// agree settles that the client need not show who it is: who reaches the socket may
// use it.
func agree(c *client) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(c.in, methods); err != nil {
		return err
	}
	if bytes.IndexByte(methods, noAuth) < 0 {
		_, _ = c.Write([]byte{socksVersion, noMethod})
		return errors.New("the client offers no method that is supported")
	}
	_, err := c.Write([]byte{socksVersion, noAuth})
	return err
}

// short reads a text of at most 255 bytes that its length comes before.
func short(r io.ByteReader) (string, error) {
	n, err := r.ReadByte()
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	for i := range text {
		if text[i], err = r.ReadByte(); err != nil {
			return "", err
		}
	}
	return string(text), nil
}

// request reads the client's request. The code is the reason of a failure.
func request(r interface {
	io.Reader
	io.ByteReader
}) (host string, port int, code byte, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", 0, failed, err
	}
	switch {
	case head[0] != socksVersion:
		return "", 0, failed, errors.New("it is not SOCKS5")
	case head[1] != toConnect:
		return "", 0, noCommand, errors.New("only CONNECT is supported")
	}
	switch kind := head[3]; kind {
	case isIPv4, isIPv6:
		raw := make([]byte, 4)
		if kind == isIPv6 {
			raw = make([]byte, 16)
		}
		if _, err := io.ReadFull(r, raw); err != nil {
			return "", 0, failed, err
		}
		addr, _ := netip.AddrFromSlice(raw)
		host = addr.Unmap().String()
	case isName:
		if host, err = short(r); err != nil {
			return "", 0, failed, err
		}
	default:
		return "", 0, noAddressKind, fmt.Errorf("the kind of address %d is not known", kind)
	}
	digits := make([]byte, 2)
	if _, err := io.ReadFull(r, digits); err != nil {
		return "", 0, failed, err
	}
	if port = int(binary.BigEndian.Uint16(digits)); port == 0 {
		return "", 0, failed, errors.New("the port is 0")
	}
	return host, port, done, nil
}

// reply answers a request. It does not reveal the local address of the connection.
func reply(w io.Writer, code byte) error {
	_, err := w.Write([]byte{socksVersion, code, 0, isIPv4, 0, 0, 0, 0, 0, 0})
	return err
}
