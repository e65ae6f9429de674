package sandbox

// candidates are the backends of Linux, the strongest first.
func candidates() []candidate {
	return []candidate{{native{}, tryNative}, {bubblewrap{}, tryBubblewrap}, {landlock{}, tryLandlock}}
}
