"""Where results go: atomic files, records of samples, files of frames, clouds and images."""
