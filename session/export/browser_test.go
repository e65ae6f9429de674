package export_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/session/export"
)

// A browser is Chromium without a window. All that it asks the network for goes to
// a proxy that counts.
type browser struct {
	program string
	proxy   string

	mu    sync.Mutex
	asked []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	b := &browser{program: installed.Chromium(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.asked = append(b.asked, r.Host)
		b.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	b.proxy = server.Listener.Addr().(*net.TCPAddr).String()
	return b
}

// shoot opens a page from a file and returns what it looks like, and what it
// asked the network for at the host canary.test.
func (b *browser) shoot(t *testing.T, page string, flags ...string) (image.Image, []string) {
	t.Helper()
	dir := t.TempDir()
	name, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "page.png")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.asked = nil
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--user-data-dir=" + filepath.Join(dir, "profile"), "--hide-scrollbars",
		"--proxy-server=http://" + b.proxy, "--window-size=900,1600", "--force-device-scale-factor=1", "--virtual-time-budget=3000", "--screenshot=" + shot}, flags...)
	cmd := exec.CommandContext(ctx, b.program, append(args, "file://"+name)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir) // it writes crash reports there
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(shot)
	if err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("EXPORT_TEST_SHOTS"); keep != "" {
		if err := os.WriteFile(filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")+fmt.Sprint(len(flags))+".png"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var canary []string
	for _, host := range b.asked {
		if strings.Contains(host, "canary.test") {
			canary = append(canary, host)
		}
	}
	return m, canary
}

// colours counts the pixels of each colour.
func colours(m image.Image) map[color.RGBA]int {
	count := map[color.RGBA]int{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			count[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
		}
	}
	return count
}

// unfolded is a page with all that can be folded open.
func unfolded(page string) string { return strings.ReplaceAll(page, "<details ", "<details open ") }

func TestBrowserShows(t *testing.T) {
	b := newBrowser(t)
	page := unfolded(exported(t, "HTML", usual(t), export.Options{}))
	for _, look := range []struct {
		name                 string
		flags                []string
		back, user, add, del color.RGBA
	}{
		{"light", nil, color.RGBA{0xfc, 0xfc, 0xfa, 255}, color.RGBA{0xea, 0xf1, 0xfb, 255}, color.RGBA{0xdc, 0xf5, 0xe1, 255}, color.RGBA{0xfd, 0xe3, 0xe1, 255}},
		{"dark", []string{"--blink-settings=preferredColorScheme=0"}, color.RGBA{0x16, 0x18, 0x1c, 255}, color.RGBA{0x1e, 0x2a, 0x3b, 255}, color.RGBA{0x12, 0x39, 0x1f, 255}, color.RGBA{0x4a, 0x1e, 0x1c, 255}},
	} {
		m, asked := b.shoot(t, page, look.flags...)
		if len(asked) > 0 {
			t.Errorf("%s: it asked for %q", look.name, asked)
		}
		if size := m.Bounds().Size(); size.X != 900 || size.Y < 1400 {
			t.Errorf("%s: the picture is %v", look.name, size)
		}
		count := colours(m)
		all := m.Bounds().Dx() * m.Bounds().Dy()
		if n := count[look.back]; n < all/5 || n > all*19/20 {
			t.Errorf("%s: %d of %d pixels are background", look.name, n, all)
		}
		for what, c := range map[string]color.RGBA{"prompts": look.user, "added lines": look.add, "deleted lines": look.del, "the image": magenta} {
			if count[c] < 1000 {
				t.Errorf("%s: %d pixels of %s", look.name, count[c], what)
			}
		}
		if n := count[magenta]; n < 120*80*9/10 {
			t.Errorf("%s: %d pixels of the image", look.name, n)
		}
		if len(count) < 30 {
			t.Errorf("%s: %d colours: is there text?", look.name, len(count))
		}
	}
}

// A hostile session neither runs nor loads anything. A page without our policy
// shows that the proxy would see it.
func TestBrowserLoadsNothing(t *testing.T) {
	b := newBrowser(t)
	if _, asked := b.shoot(t, `<!DOCTYPE html><img src="http://canary.test/img.png">`); len(asked) == 0 {
		t.Fatal("the proxy does not see what a page loads")
	}
	attack := strings.Join(attacks, "\n") + `<img src="http://canary.test/img.png"><script src="http://canary.test/a.js"></script>`
	page := unfolded(exported(t, "HTML", hostile(t, attack), export.Options{}))
	if _, asked := b.shoot(t, page); len(asked) > 0 {
		t.Errorf("it asked for %q", asked)
	}
	// Even an element that had slipped in would be stopped by the page's policy.
	slipped := strings.Replace(page, "<main>", `<main><img src="http://canary.test/img.png"><script src="http://canary.test/a.js"></script><style>@import "http://canary.test/a.css";</style>`, 1)
	if _, asked := b.shoot(t, slipped); len(asked) > 0 {
		t.Errorf("past the policy it asked for %q", asked)
	}
}
