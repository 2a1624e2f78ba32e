*** Settings ***
Documentation       The CNI plugin and the node agent, called by a runtime of our own (csit/libraries/Cni.py) on two nodes: what ADD makes forwards packets when it
...                 returns, what DEL, GC and a start of the agent take away is gone from the switch, the kernel, the datastore and the agent.
Resource            ../resources/coeus.resource
Library             ../libraries/Cni.py
Library             ../libraries/Kube.py
Library             ../libraries/Traffic.py
Suite Setup         Start Two Nodes With Agents
Suite Teardown      Run Keywords    Stop Agents    AND    Stop Lab

*** Variables ***
${UPSTREAM_IPAM}    {"type": "host-local", "subnet": "10.11.1.0/24", "gateway": "10.11.1.1", "routes": [{"dst": "0.0.0.0/0"}]}

*** Test Cases ***
A Version Is Answered Without The Agent
    Kill Agent    1
    ${answer}=    Call Of Node    1    VERSION
    Should Be Equal    ${answer}[cniVersion]    1.1.0
    Should Contain    ${answer}[supportedVersions]    0.3.1
    [Teardown]    Start Agent    1

Pods Reach Each Other As Soon As They Are Added
    Add By Cni    1    p1
    Add By Cni    1    p2
    Add By Cni    2    p3
    Ping Should Pass Once    default:p1    10.11.1.3
    Ping Should Pass    default:p1    10.11.2.2
    Traffic Should Pass    default:p1    default:p2    v4    tcp
    Traffic Should Pass    default:p1    default:p3    v4    tcp
    Traffic Should Pass    default:p3    default:p1    v4    full

The Switch Knows Whose Port It Is
    ${iface}=    External Id    default:p1    iface-id
    Should Be Equal    ${iface}    default:p1
    ${container}=    Container Of    default:p1
    ${sandbox}=    External Id    default:p1    sandbox
    Should Be Equal    ${sandbox}    ${container}
    ${address}=    External Id    default:p1    ip-address
    Should Be Equal    ${address}    10.11.1.2
    ${port}=    Port Of    default:p1
    Should Match Regexp    ${port}    ^veth[0-9a-f]{11}$

A Second Add Of The Same Is Refused And Breaks Nothing
    ${answer}=    Call By Cni    ADD    default:p1    expected=4
    Should Contain    ${answer}[msg]    CNI_IFNAME=eth0
    Ping Should Pass    default:p1    10.11.2.2

What Is No More As It Was Made Is Found
    Call By Cni    CHECK    default:p1
    Inside Pod    default:p1    ip    route    del    default
    ${answer}=    Call By Cni    CHECK    default:p1    expected=103
    Should Contain    ${answer}[msg]    0.0.0.0/0
    Inside Pod    default:p1    ip    route    add    default    via    10.11.1.1
    Call By Cni    CHECK    default:p1
    Inside Pod    default:p1    ip    address    add    10.11.1.99/24    dev    eth0
    Call By Cni    CHECK    default:p1
    Inside Pod    default:p1    ip    address    del    10.11.1.2/24    dev    eth0
    ${answer}=    Call By Cni    CHECK    default:p1    expected=103
    Should Contain    ${answer}[msg]    10.11.1.2/24
    Unplug Port Of    default:p2
    ${answer}=    Call By Cni    CHECK    default:p2    expected=103
    Should Contain    ${answer}[msg]    no port of Open vSwitch

A Delete Succeeds However Often And Whatever Is Gone
    Call By Cni    DEL    default:p1
    Call By Cni    DEL    default:p1
    Call By Cni    DEL    default:p2    netns=${EMPTY}
    Call By Cni    DEL    default:p2    netns=/run/netns/never
    End Namespace Of    default:p3
    Call By Cni    DEL    default:p3
    Nothing Should Be Left    1
    Nothing Should Be Left    2

Addresses That Were Given Back Are Given Out Again
    ${answer}=    Add By Cni    1    again
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.2/24
    Should Be Equal    ${answer}[ips][0][gateway]    10.11.1.1
    Delete By Cni    default:again

An Address That Another Has Is Not Chosen
    Create Pod    taken    default    1    10.11.1.2
    Add By Cni    1    other
    ${answer}=    Call By Cni    CHECK    default:other
    ${address}=    External Id    default:other    ip-address
    Should Be Equal    ${address}    10.11.1.3
    Delete By Cni    default:other
    Delete Pod    taken    default

Addresses And A Mac Address May Be Asked For
    ${answer}=    Add By Cni    1    asked    IP=10.11.1.77    MAC=02:00:00:00:00:77
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.77/24
    Should Be Equal    ${answer}[interfaces][1][mac]    02:00:00:00:00:77
    ${runtime}=    Evaluate    {"runtimeConfig": {"ips": ["10.11.1.78/24"]}}
    ${answer}=    Add By Cni    1    told    IP=10.11.1.79    config=${runtime}
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.78/24
    Ping Should Pass    default:asked    10.11.1.78
    ${answer}=    Add By Cni    1    late    IP=10.11.1.77    expected=7
    Should Contain    ${answer}[msg]    10.11.1.77
    Delete By Cni    default:asked
    Delete By Cni    default:told
    Nothing Should Be Left    1

A Pod Of Both Versions
    Has Pool Of IPv6    six
    Network Is    1    namespace=six
    Network Is    2    namespace=six
    Add By Cni    1    d1
    Add By Cni    2    d2
    Traffic Should Pass    default:d1    default:d2    v6    tcp
    Traffic Should Pass    default:d1    default:d2    v4    tcp
    Call By Cni    CHECK    default:d1
    Delete By Cni    default:d1
    Delete By Cni    default:d2
    Nothing Should Be Left    1
    [Teardown]    Has No Pool Of IPv6    six

Each Version Is Answered In Its Own Words
    FOR    ${version}    IN    0.3.0    0.3.1    0.4.0    1.0.0    1.1.0
        Network Is    1    version=${version}
        ${answer}=    Add By Cni    1    words
        Should Be Equal    ${answer}[cniVersion]    ${version}
        ${said}=    Evaluate    $answer["ips"][0].get("version", "none") + " " + str($answer["interfaces"][1].get("mtu", "none"))
        ${wanted}=    Evaluate    {"1.0.0": "none none", "1.1.0": "none 1450"}.get($version, "4 none")
        Should Be Equal    ${said}    ${wanted}
        # CHECK came with 0.4.0, GC and STATUS with 1.1.0; what a runtime kept of ADD is understood in the words of its version.
        ${code}=    Evaluate    1 if $version < "0.4.0" else 0
        Call By Cni    CHECK    default:words    expected=${code}
        ${code}=    Evaluate    1 if $version < "1.1.0" else 0
        Call Of Node    1    STATUS    ${code}
        Collect By Cni    1    default:words    expected=${code}
        Delete By Cni    default:words
    END
    [Teardown]    Usual Networks

A Configuration Of Upstream Works As It Stands
    ${ipam}=    Evaluate    json.loads($UPSTREAM_IPAM)    json
    Upstream Network Is    1    ${ipam}
    ${answer}=    Add By Cni    1    u1
    Should Start With    ${answer}[ips][0][address]    10.11.1.
    Should Be Equal    ${answer}[ips][0][version]    4
    Add By Cni    1    u2
    Traffic Should Pass    default:u1    default:u2    v4    tcp
    Delete By Cni    default:u1
    Delete By Cni    default:u2
    Nothing Should Be Left    1
    [Teardown]    Usual Networks

Another Plugin May Stand Behind
    [Documentation]    A list of ours and the reference plugin tuning: it takes our result, and what it adds is no drift.
    Network Is    1    version=1.0.0
    ${sysctl}=    Create Dictionary    net.ipv4.conf.eth0.arp_filter=1
    Add By Cni    1    tuned
    Chained Call    ADD    default:tuned    tuning    sysctl=${sysctl}
    ${set}=    Inside Pod    default:tuned    cat    /proc/sys/net/ipv4/conf/eth0/arp_filter
    Should Be Equal As Integers    ${set}    1
    Call By Cni    CHECK    default:tuned
    Chained Call    CHECK    default:tuned    tuning    sysctl=${sysctl}
    Chained Call    DEL    default:tuned    tuning    sysctl=${sysctl}
    Delete By Cni    default:tuned
    Nothing Should Be Left    1
    [Teardown]    Usual Networks

The IPAM Plugin Static Gives What The Configuration Says
    ${address}=    Evaluate    {"address": "10.11.1.77/24", "gateway": "10.11.1.1"}
    ${ipam}=    Evaluate    {"type": "static", "addresses": [$address], "routes": [{"dst": "0.0.0.0/0"}]}
    Network Is    1    version=1.0.0    ipam=${ipam}
    ${result}=    Add By Cni    1    fixed
    Should Be Equal    ${result}[ips][0][address]    10.11.1.77/24
    Call By Cni    CHECK    default:fixed
    Ping Should Pass    default:fixed    10.11.1.1
    ${answer}=    Add By Cni    1    second    expected=7
    Should Contain    ${answer}[msg]    10.11.1.77
    Delete By Cni    default:fixed
    Nothing Should Be Left    1
    [Teardown]    Usual Networks

What An IPAM Plugin Refuses Leaves Nothing
    ${ipam}=    Evaluate    {"type": "host-local", "ranges": [[{"subnet": "10.11.1.0/24", "rangeStart": "10.11.1.20", "rangeEnd": "10.11.1.20"}]], "dataDir": $DATA}
    Network Is    1    version=1.0.0    ipam=${ipam}
    Add By Cni    1    only
    ${answer}=    Add By Cni    1    none    expected=999
    Should Contain    ${answer}[msg]    host-local
    Delete By Cni    default:only
    Add By Cni    1    next
    Delete By Cni    default:next
    Network Is    1    version=1.0.0    ipam=${{ {"type": "nobody-has-this"} }}
    ${answer}=    Add By Cni    1    none    expected=2
    Should Contain    ${answer}[msg]    ipam.type
    Nothing Should Be Left    1
    [Teardown]    Usual Networks

An IPAM Plugin That Hangs Is Ended And Named
    Network Is    1    ipam=${{ {"type": "hangs"} }}    timeout=${1}
    Plugin That Hangs    1
    ${answer}=    Add By Cni    1    stuck    expected=11
    Should Contain    ${answer}[msg]    hangs, ADD: it has not ended after 1 s
    Plugin Should Have Been Killed
    # Its DEL hangs as well, and is tried again until it ends.
    Plugin Hangs No More
    Nothing Should Be Left    1    timeout=25
    [Teardown]    Usual Networks

An Entry That Has An Address Is Plugged In As It Is
    Create Pod    k1    kuryr    1    10.11.1.40
    ${uid}=    Pod Uid    kuryr:k1
    ${answer}=    Add By Cni    1    k1    PORT_UUID=${uid},IPV4=10.11.1.40/24,GW=10.11.1.1,PORT_TYPE=ovs    namespace=kuryr
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.40/24
    Call By Cni    CHECK    kuryr:k1
    Delete By Cni    kuryr:k1
    Resource Should Say    ${CONFIG}/pod:coe/pods/${uid}    10.11.1.40
    ${answer}=    Add By Cni    1    k1    PORT_UUID=${uid}    IPV4=10.11.1.41/24    namespace=kuryr    expected=7
    Should Contain    ${answer}[msg]    10.11.1.41
    ${answer}=    Add By Cni    1    k1    PORT_UUID=${uid}    GW=10.11.1.9    namespace=kuryr    expected=7
    Should Contain    ${answer}[msg]    GW=10.11.1.9
    ${answer}=    Add By Cni    1    k2    PORT_UUID=${uid}    namespace=kuryr    expected=7
    Should Contain    ${answer}[msg]    kuryr/k1
    ${answer}=    Add By Cni    1    k1    PORT_UUID=${uid}    PORT_TYPE=vhostuser    namespace=kuryr    expected=2
    Should Contain    ${answer}[msg]    PORT_TYPE=vhostuser
    Delete Pod    k1    kuryr
    Nothing Should Be Left    1

A Pod Of A Cluster Is Waited For And Given Its Address
    Network Is    1    timeout=${3}
    ${answer}=    Add By Cni    1    c1    namespace=blue    expected=11
    Should Contain    ${answer}[msg]    blue/c1
    Create Pod    c1    blue    1
    ${uid}=    Pod Uid    blue:c1
    ${answer}=    Add By Cni    1    c1    K8S_POD_UID=${uid}    namespace=blue
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.2/24
    Resource Should Say    ${CONFIG}/pod:coe/pods/${uid}    10.11.1.2
    Delete By Cni    blue:c1
    ${left}=    Resource Should Exist    ${CONFIG}/pod:coe/pods/${uid}
    Should Not Contain    ${{ str($left) }}    10.11.1.2
    Delete Pod    c1    blue
    Nothing Should Be Left    1
    [Teardown]    Usual Networks

A Newer Sandbox Of A Pod Takes Over
    Add By Cni    1    twin
    ${old}=    Port Of    default:twin
    Add By Cni    1    twin
    ${new}=    Port Of    default:twin
    Should Not Be Equal    ${old}    ${new}
    ${ports}=    Ports Of    1    br-int
    Should Not Contain    ${ports}    ${old}
    So Many Are There    1    1
    Add By Cni    2    far
    Collect By Cni    1    default:twin
    Ping Should Pass    default:twin    10.11.2.2
    Call By Cni    CHECK    default:twin
    Collect By Cni    1
    Nothing Should Be Left    1
    Delete By Cni    default:far

Neighbours Know A New Sandbox By Its New MAC Address At Once
    Has Pool Of IPv6    six
    Network Is    1    namespace=six
    Add By Cni    1    peer
    Add By Cni    1    moved    IP=10.11.1.50,fd00:6::50
    FOR    ${address}    IN    10.11.1.50    fd00:6::50
        Ping Should Pass    default:peer    ${address}
    END
    ${old}=    Resolved Mac    default:peer    10.11.1.50
    Add By Cni    1    moved    IP=10.11.1.50,fd00:6::50
    ${new}=    Pod Mac    default:moved
    Should Not Be Equal    ${old}    ${new}
    FOR    ${address}    IN    10.11.1.50    fd00:6::50
        Wait Until Keyword Succeeds    4 s    0.1 s    Ping Should Pass Once    default:peer    ${address}
        ${known}=    Resolved Mac    default:peer    ${address}
        Should Be Equal    ${known}    ${new}
    END
    Delete By Cni    default:peer
    Delete By Cni    default:moved
    Collect By Cni    1
    Nothing Should Be Left    1
    [Teardown]    Has No Pool Of IPv6    six

A Pod May Have Several Interfaces
    Add By Cni    1    m1
    Add By Cni    1    m2
    ${answer}=    Call By Cni    ADD    default:m1    ifname=net1
    Should Be Equal    ${answer}[ips][0][address]    10.11.1.4/24
    Should Be Empty    ${answer}[routes]
    Call By Cni    CHECK    default:m1
    Call By Cni    CHECK    default:m1    ifname=net1
    Inside Pod    default:m1    ping    -n    -c    2    -I    net1    10.11.1.3
    Inside Pod    default:m1    ping    -n    -c    2    -I    eth0    10.11.1.3
    Call By Cni    DEL    default:m1
    Call By Cni    DEL    default:m1    ifname=net1
    Delete By Cni    default:m2
    Nothing Should Be Left    1

A Hundred At Once
    Add Many    1    100
    So Many Are There    1    100
    Ping Should Pass    default:many0    10.11.1.101
    Delete Many    100
    Nothing Should Be Left    1

Two Hundred On A Node
    Add By Cni    2    far
    Add Many    1    200    at_once=32
    So Many Are There    1    200
    Each Of Many Should Answer    200
    Ping Should Pass    default:far    10.11.1.2
    Ping Should Pass    default:far    10.11.1.201
    Delete Many    200    at_once=32
    Nothing Should Be Left    1
    Flow Count Should Become    1    ${EMPTY FLOWS}
    Delete By Cni    default:far

An Agent That Is Killed At Any Moment Leaves Nothing
    ${cut}    ${begun}=    End In The Middle    1    agent    20
    Should Be True    ${cut} > 0 and ${begun} > 0
    Collect By Cni    1
    Nothing Should Be Left    1
    Flow Count Should Become    1    ${EMPTY FLOWS}
    [Teardown]    Forget The Cut

A Plugin That Is Killed At Any Moment Leaves Nothing
    ${cut}    ${begun}=    End In The Middle    1    plugin    20
    Should Be True    ${cut} > 0
    Wait Until Keyword Succeeds    40 s    0.5 s    Collecting Leaves Nothing    1
    Flow Count Should Become    1    ${EMPTY FLOWS}
    [Teardown]    Forget The Cut

What Ended While The Agent Was Away Is Found At Its Start
    Add By Cni    1    alive
    Add By Cni    1    dead
    Add By Cni    2    far
    Kill Agent    1
    End Namespace Of    default:dead
    Start Agent    1
    Wait Until Keyword Succeeds    25 s    0.1 s    So Many Are There    1    1
    Ping Should Pass    default:alive    10.11.2.2
    Call By Cni    CHECK    default:alive
    Collect By Cni    1    default:alive
    So Many Are There    1    1
    Collect By Cni    1
    Nothing Should Be Left    1
    Delete By Cni    default:far

While The Agent Is Away The Runtime Is To Try Again
    Add By Cni    1    wait
    Kill Agent    1
    ${answer}=    Add By Cni    1    other    expected=11
    Should Contain    ${answer}[msg]    node.sock
    Call By Cni    DEL    default:wait    expected=11
    Call Of Node    1    STATUS    50
    Start Agent    1
    Call Of Node    1    STATUS
    Delete By Cni    default:wait
    Nothing Should Be Left    1

While The Controller Is Away Pods Go But None Comes
    Add By Cni    1    stays
    Stop Controller
    ${answer}=    Add By Cni    1    other    expected=11
    Should Contain    ${answer}[msg]    controller
    Call Of Node    1    STATUS    50
    Delete By Cni    default:stays
    Start Controller
    Nothing Should Be Left    1    timeout=30
    Call Of Node    1    STATUS

A Switch That Does Not Answer Is Named
    Network Is    1    timeout=${2}
    Kill Daemon Of    1    vswitchd
    ${answer}=    Add By Cni    1    stuck    expected=11
    Should Contain    ${answer}[msg]    default:stuck is not programmed
    Nothing Should Be Left    1
    Start Daemon Of    1    vswitchd
    Wait Until Keyword Succeeds    20 s    0.5 s    Add By Cni    1    stuck
    Delete By Cni    default:stuck
    Network Is    1    ovsBridge=br-none
    ${answer}=    Add By Cni    1    stuck    expected=11
    Should Contain    ${answer}[msg]    br-none
    Call Of Node    1    STATUS    50
    [Teardown]    Usual Networks

What Is Odd Is Refused By Its Name
    [Template]    Odd Call
    CNI_NETNS=/run/netns/never        4    CNI_NETNS=/run/netns/never
    CNI_NETNS=/etc/hostname           4    CNI_NETNS=/etc/hostname
    CNI_NETNS=                        4    CNI_NETNS
    CNI_CONTAINERID=../x              4    CNI_CONTAINERID
    CNI_IFNAME=much-too-long-name     4    CNI_IFNAME
    CNI_IFNAME=lo                     4    CNI_IFNAME=lo
    CNI_ARGS=FOO=1                    4    FOO
    CNI_ARGS=K8S_POD_NAME=a'b         4    K8S_POD_NAME
    CNI_ARGS=IP=10.0.0.999            4    IP=10.0.0.999
    cniVersion: "3.0.0"               1    3.0.0
    name: ""                          7    name
    mgrPort: 70000                    7    mgrPort
    clusterId: "prod"                 7    clusterId
    ipam: {"type": "../../bin/sh"}    7    ipam.type
    prevResult: {"ips": []}           7    prevResult
    runtimeConfig: {"portMappings": [{"hostPort": 80, "containerPort": 0}]}    7    runtimeConfig.portMappings
    runtimeConfig: {"bandwidth": {"ingressRate": "10M"}}    7    runtimeConfig.bandwidth.ingressRate
    runtimeConfig: {"deviceID": "0000:01"}    2    runtimeConfig.deviceID
    stdin: {                          6    standard input
    stdin:                            6    standard input

The Doctor Finds All Good On A Node
    Install As On A Node    1
    Doctor Should Find All Good    1
    Make Account Of The Guide    agent
    # Accounts that are added are known within a second.
    Wait Until Keyword Succeeds    10 s    0.5 s    Doctor Should Find All Good    1    --user    agent

The Doctor Names What Is Broken On A Node
    Doctor Should Name    1    rights at the controller    --user    nobody
    Make Account    stranger
    Wait Until Keyword Succeeds    10 s    0.5 s    Doctor Should Say    is denied    1    rights at the controller    --user    stranger
    ${text}=    Doctor Should Name    1    bridge    --bridge    br-none
    Should Contain    ${text}    br-none
    Doctor Should Name    1    Open vSwitch    --ovsdb    unix:/run/none/db.sock
    Doctor Should Name    1    folder of networks    --cni-conf-dir    /run/none
    Doctor Should Name    1    account of the system    whom=nobody
    Doctor Should Name    1    namespaces and devices    whom=nobody
    Install As On A Node    1    socket=/run/none/node.sock
    ${text}=    Doctor Should Name    1    network
    Should Contain    ${text}    /run/none/node.sock
    ${text}=    Doctor Should Name    1    STATUS
    Should Contain    ${text}    /run/none/node.sock
    Take Away    1    networks/10-coeus.conflist
    Doctor Should Name    1    network
    Install As On A Node    1
    Take Away    1    plugins/coeus-cni
    Doctor Should Name    1    plugin
    Install As On A Node    1
    Kill Agent    1
    Doctor Should Name    1    agent
    Doctor Should Find All Good    1    --before
    Start Agent    1
    Set Of Open vSwitch    1    remove    other_config    local_ip
    Doctor Should Name    1    address of the node
    Set Of Open vSwitch    1    set    other_config:local_ip=192.168.200.1
    Stop Controller
    Doctor Should Name    1    controller
    Wait Until Keyword Succeeds    20 s    0.5 s    Doctor Should Name    1    manager
    Start Controller
    Wait Until Keyword Succeeds    30 s    0.5 s    Doctor Should Find All Good    1

Podman Is Served By The Same Configuration
    Start Podman    1
    Podman    run    -d    --name    web    --network    coeus    bb:1    /bin/sleep    1000
    Podman    run    -d    --name    client    --network    coeus:ip\=10.11.1.90    bb:1    /bin/sleep    1000
    Add By Cni    2    far
    ${answer}=    Podman    exec    client    /bin/ping    -c    3    -W    2    10.11.1.2
    Should Contain    ${answer}    0% packet loss
    ${answer}=    Podman    exec    web    /bin/ping    -c    3    -W    2    10.11.2.2
    Should Contain    ${answer}    0% packet loss
    ${address}=    Podman    inspect    --format    {{.NetworkSettings.Networks.coeus.IPAddress}}    client
    Should Contain    ${address}    10.11.1.90
    So Many Are There    1    2
    Podman    rm    --force    --time    0    web
    So Many Are There    1    1
    Podman    rm    --force    --time    0    client
    Nothing Should Be Left    1
    Delete By Cni    default:far
    [Teardown]    Stop Podman

After All That Nothing Is Left
    Nothing Should Be Left    1
    Nothing Should Be Left    2
    Tables Should Be As From Scratch

*** Keywords ***
Doctor Should Say
    [Arguments]    ${named}    @{what}
    ${text}=    Doctor Should Name    @{what}
    Should Contain    ${text}    ${named}

Start Two Nodes With Agents
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    ${count}=    Wait Until Keyword Succeeds    30 s    0.5 s    Settled Flow Count    1
    Set Suite Variable    ${EMPTY FLOWS}    ${count}
    Start Agent    1
    Start Agent    2
    Usual Networks
    ${data}=    Folder Of Leases
    Set Suite Variable    ${DATA}    ${data}

Usual Networks
    Network Is    1
    Network Is    2

Has Pool Of IPv6
    [Arguments]    ${network}
    ${pool}=    Evaluate    {"dhcp_allocation_pool:network": [{"network-id": $network, "allocation-pool": [{"subnet": "fd00:6::/64", "allocate-from": "fd00:6::10", "allocate-to": "fd00:6::ff"}]}]}
    PUT On Session    coeus    ${CONFIG}/dhcp_allocation_pool:dhcp_allocation_pool/network/${network}    json=${pool}    expected_status=201

Has No Pool Of IPv6
    [Arguments]    ${network}
    DELETE On Session    coeus    ${CONFIG}/dhcp_allocation_pool:dhcp_allocation_pool/network/${network}    expected_status=200
    Usual Networks

Upstream Network Is
    [Arguments]    ${node}    ${ipam}
    ${ipam}=    Evaluate    {**$ipam, "dataDir": $DATA}
    Network Is    ${node}    version=0.3.0    name=odl-cni    mgrPort=${6640}    mgrActive=${True}    manager=192.168.33.11    ovsBridge=br-int
    ...    ctlrPort=${6653}    ctlrActive=${True}    controller=192.168.33.11    externalIntf=enp0s9    externalIp=192.168.50.11
    ...    clusterId=00000000-0000-0000-0000-000000000001    ipam=${ipam}

Collecting Leaves Nothing
    [Arguments]    ${node}
    Collect By Cni    ${node}
    Nothing Should Be Left    ${node}
