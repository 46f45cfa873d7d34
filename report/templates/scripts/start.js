// The page reads without any of this; where a part cannot run, what stands in the page stays.

async function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  startDownload();
  if (!("DecompressionStream" in window)) {
    await startTable(null);
    return;
  }
  const table = await startTable(data.table);
  if (data.explore) startExploring(await readStudy(data.explore), table);
  document.documentElement.dataset.ready = "";
}

start();
