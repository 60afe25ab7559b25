raise RuntimeError("package")
