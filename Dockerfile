# An image with `robustness` as its command; docs/how_to/docker.md says how to build and run it.
ARG PYTHON=3.11
FROM python:${PYTHON}-slim-bookworm

# `cpu` installs torch without CUDA; `gpu` installs PyPI's build, which brings the CUDA libraries with it.
ARG DEVICE=cpu
ARG EXTRAS=postgres
ARG TORCH_CPU_INDEX=https://download.pytorch.org/whl/cpu

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY robustness ./robustness
COPY report ./report
COPY studies ./studies
COPY search_spaces ./search_spaces
RUN case "$DEVICE" in cpu) index="--extra-index-url=$TORCH_CPU_INDEX" ;; gpu) index= ;; \
        *) echo "DEVICE must be cpu or gpu, found $DEVICE" >&2; exit 2 ;; esac \
    && python -m pip install --no-cache-dir --constraint constraints.txt ${index:+"$index"} ".[$EXTRAS]" \
    && robustness plan quickstart --json > /dev/null

RUN useradd --create-home --uid 1000 study && install --directory --owner study /work
USER 1000
WORKDIR /work
ENV PYTHONUNBUFFERED=1
ENTRYPOINT ["robustness"]
CMD ["--help"]
