# hccl_kit with training, MPI and export.
#
#   docker build -t hccl-kit .                                        CPU
#   docker build -t hccl-kit --build-arg BASE=ascendai/cann:TAG .     Ascend: an image with CANN and Python 3.10 to 3.12
#
#   docker run --rm -v "$PWD:/work" hccl-kit hccl-check tables/
#   docker run --rm -v "$PWD:/work" --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm \
#     --device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro \
#     -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro hccl-kit hccl-kit report
#
# Everything has a version: the base image by its exact tag, packages of Debian 12 by their upstream version (a mirror
# holds only the latest security update of it), Python packages by constraints.txt. Another BASE has its own versions.
# For Python 3.10: --build-arg CONSTRAINTS=
ARG BASE=python:3.11.13-slim-bookworm

# A name of its own, so that the Ascend image carries no sources. Any Python makes the same wheel.
FROM python:3.11.13-slim-bookworm AS wheel
WORKDIR /source
COPY . .
RUN PIP_CONSTRAINT=constraints.txt pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . && cp constraints.txt /wheels

# hadolint ignore=DL3006
FROM ${BASE}
ARG EXTRAS=all
ARG CONSTRAINTS=constraints.txt

# libgomp1 for MindSpore, g++ for its convolutions on a CPU, ssh for jobs of several servers. An image without apt-get (openEuler) has both.
# hadolint ignore=DL3008
RUN if command -v apt-get >/dev/null; then \
        set -- g++ libgomp1 openssh-client procps; \
        if grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release; then \
            set -- 'g++=4:12.2.*' 'libgomp1=12.2.*' 'openssh-client=1:9.2p1-*' 'procps=2:4.0.2-*'; \
        fi; \
        apt-get update \
        && apt-get install --yes --no-install-recommends "$@" \
        && rm -rf /var/lib/apt/lists/*; \
    fi

COPY --from=wheel /wheels /tmp/wheels
RUN python3 -I -m venv /opt/hccl-kit \
    && wheel=$(echo /tmp/wheels/hccl_kit-*.whl) \
    && /opt/hccl-kit/bin/python -I -m pip install --no-cache-dir ${CONSTRAINTS:+--constraint "/tmp/wheels/$CONSTRAINTS"} \
        "${wheel}[${EXTRAS}]" \
    && rm -rf /tmp/wheels \
    && /opt/hccl-kit/bin/hccl-check --version
ENV PATH=/opt/hccl-kit/bin:$PATH

# mpirun refuses root. The group of the driver may use the cards.
RUN useradd --create-home --shell /bin/bash hccl \
    && if getent group HwHiAiUser >/dev/null; then usermod --append --groups HwHiAiUser hccl; fi
# hadolint ignore=DL3066
USER hccl
WORKDIR /work

# CANN is found by the variables of its set_env.sh.
ENTRYPOINT ["/bin/bash", "-c", "for file in /usr/local/Ascend/{cann,ascend-toolkit}/set_env.sh; do if [ -r \"$file\" ]; then . \"$file\"; break; fi; done; exec \"$@\"", "--"]
CMD ["hccl-kit", "--help"]
