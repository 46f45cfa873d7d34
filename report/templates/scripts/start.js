// The page reads without any of this; where a part cannot run, what stands in the page stays.

async function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  startFolding();
  startDownload();
  const unpacks = "DecompressionStream" in window, table = await startTable(unpacks ? data.table : null);
  if (unpacks && data.explore) startExploring(await readStudy(data.explore), table);
  document.body.dataset.ready = "";
}

start();
