# docker build -t toolroom . ; see docs/guide/container.md for how to run it.
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npm ci --include=dev --no-audit --no-fund && node scripts/pack.mjs /package
# Node 22 has SQLite itself, so its package is not needed.
RUN npm install --global --prefix /app --omit=dev --no-audit --no-fund /package/toolroom-*.tgz \
 && rm -rf /app/lib/node_modules/toolroom/node_modules/@photostructure

# Debian rather than Alpine: many tool servers contain native parts that are built for glibc only.
FROM node:22-bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates tini \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o node -g node -m 700 /data
COPY --from=build /app /usr/local
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8665 \
    TOOLROOM_HOME=/data/toolroom \
    XDG_CONFIG_HOME=/data/config \
    npm_config_cache=/data/npm
USER node
WORKDIR /home/node
VOLUME /data
EXPOSE 8665
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# tini ends and collects the processes that tool servers leave behind.
ENTRYPOINT ["tini", "--", "toolroom"]
CMD ["up"]
