"""Code that evaluators of this dataset share. It is public: gold never stands here."""
